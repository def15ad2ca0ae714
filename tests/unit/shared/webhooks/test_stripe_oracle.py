"""The same verdict as the `stripe` library's, but for the differences listed here."""

import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stripe import SignatureVerificationError, WebhookSignature

from devhost.senders.stripe import signature
from shared.webhooks.base import Options
from shared.webhooks.rejections import WebhookRejected
from shared.webhooks.stripe import Stripe
from tests.unit.shared.webhooks.oracles import (
    Difference,
    assert_differs,
    compare,
    is_text,
    some_body,
    some_key,
    some_skew,
    spoilt,
)
from tests.unit.shared.webhooks.requests import request, trust

pytestmark = pytest.mark.oracle

SCHEME = Stripe()
SECRET = "whsec_an_invented_secret_of_the_tests"
CANONICAL = re.compile(r"[1-9][0-9]{0,19}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    header: str
    body: bytes = b"{}"
    secret: str = SECRET

    @property
    def parts(self) -> list[str]:
        return self.header.split(",")

    def values(self, name: str) -> list[str]:
        pairs = (part.strip().partition("=") for part in self.parts)
        return [value for found, _, value in pairs if found == name]


def ours(case: Case) -> bool:
    incoming = request(case.body, {"stripe-signature": case.header})
    key = SCHEME.load_key(case.secret, Options())
    try:
        SCHEME.verify(incoming, trust(key, now=datetime.now(UTC)))
    except WebhookRejected:
        return False
    return True


def theirs(case: Case) -> bool:
    try:
        WebhookSignature.verify_header(case.body, case.header, case.secret, tolerance=300)
    except (SignatureVerificationError, UnicodeDecodeError, TypeError):
        return False
    return True


def some_case(random: Random) -> Case:
    secret, body = f"whsec_{some_key(random, 32)}", some_body(random)
    when = str(now() + some_skew(random))
    good = f"v1={signature(body, secret, when)}"
    others = [
        good,
        f"v1={signature(body, 'whsec_another_secret', when)}",
        f"v0={signature(body, secret, when)}",
        "v1=",
        "v1",
        "v2=x",
        "",
        f"{good}=x",
        f"t={when}",
        "t",
    ]
    parts = [f"t={when}", good, *random.choices(others, k=random.choice([0, 0, 1, 2, 12]))]
    if random.random() < 0.5:
        random.shuffle(parts)
    header = random.choice([",", ",", ", "]).join(parts)
    if random.random() < 0.3:
        header = spoilt(random, header)
    if random.random() < 0.2:
        body += b" "
    return Case(header=header, body=body, secret=secret)


def now() -> int:
    return int(time.time())


def signed(when: str, body: bytes = b"{}") -> str:
    return f"t={when},v1={signature(body, SECRET, when)}"


DIFFERENCES: list[Difference[Case]] = [
    Difference(
        reason="the library lets any time in the future pass; we take the tolerance to both sides",
        applies=lambda case: any(value.isdigit() and int(value) > now() + 200 for value in case.values("t")),
        example=lambda: Case(header=signed(str(now() + 3600))),
        ours=False,
    ),
    Difference(
        reason="the library takes the first of several times; we refuse a header that has more than one",
        applies=lambda case: len(case.values("t")) > 1,
        example=lambda: Case(header=f"{signed(str(now()))},t=1"),
        ours=False,
    ),
    Difference(
        reason="the library takes every spelling of a number and signs the usual one; we take only that",
        applies=lambda case: not all(CANONICAL.fullmatch(value) for value in case.values("t")),
        example=lambda: Case(header=signed(str(now())).replace("t=", "t=+")),
        ours=False,
    ),
    Difference(
        reason="proxies put spaces after commas: we leave them out, the library does not know such parts",
        applies=lambda case: any(part != part.strip() for part in case.parts),
        example=lambda: Case(header=signed(str(now())).replace(",", ", ")),
        ours=True,
    ),
    Difference(
        reason="the library ignores a second `=` and what follows; to us it belongs to the signature",
        applies=lambda case: any(part.count("=") > 1 for part in case.parts),
        example=lambda: Case(header=f"{signed(str(now()))}=x"),
        ours=False,
    ),
    Difference(
        reason="a v1 without a value makes the library refuse the header; we go on to the next part",
        applies=lambda case: any(part.strip() == "v1" for part in case.parts),
        example=lambda: Case(header=signed(str(now())).replace(",", ",v1,")),
        ours=True,
    ),
    Difference(
        reason="the library tries any number of signatures, we try ten",
        applies=lambda case: len(case.values("v1")) > 10,
        example=lambda: Case(header=signed(str(now())).replace(",", ",v1=x" * 10 + ",")),
        ours=False,
    ),
    Difference(
        reason="the library raises on a body that is not UTF-8; we verify its bytes and refuse to read it",
        applies=lambda case: not is_text(case.body),
        example=lambda: Case(header=signed(str(now()), b"\xff"), body=b"\xff"),
        ours=True,
    ),
    Difference(
        reason="a character beyond ASCII in any v1 makes the library raise; we go on to the next",
        applies=lambda case: not all(value.isascii() for value in case.values("v1")),
        example=lambda: Case(header=signed(str(now())).replace(",", ",v1=é,")),
        ours=True,
    ),
]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_the_verdict_is_the_librarys(seed: int) -> None:
    verdicts = compare(seed, some_case, ours, theirs, DIFFERENCES)
    assert verdicts[True] > 5
    assert verdicts[False] > 5


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda difference: difference.reason)
def test_each_difference_is_one(difference: Difference[Case]) -> None:
    assert_differs(difference, ours, theirs)


@given(body=st.text(), key=st.text(min_size=16).filter(lambda text: text == text.strip()))
def test_what_the_library_signs_is_accepted(body: str, key: str) -> None:
    header = WebhookSignature.generate_signature_header(body, f"whsec_{key}")
    assert ours(Case(header=header, body=body.encode(), secret=f"whsec_{key}"))
