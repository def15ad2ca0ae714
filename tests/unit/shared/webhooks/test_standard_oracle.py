"""The same verdict as the libraries `standardwebhooks` and `svix`, but for the differences listed here."""

import base64
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
from svix.webhooks import Webhook as SvixWebhook

from devhost.senders.standard import signature
from shared.webhooks.base import Options, UnusableSecret
from shared.webhooks.rejections import WebhookRejected
from shared.webhooks.signatures import canonical_base64
from shared.webhooks.standard import Standard
from tests.unit.shared.webhooks.oracles import (
    Difference,
    assert_differs,
    compare,
    is_text,
    some_body,
    some_skew,
    spoilt,
)
from tests.unit.shared.webhooks.requests import request, trust

pytestmark = pytest.mark.oracle

SCHEME = Standard()
SECRET = f"whsec_{base64.b64encode(bytes(range(32))).decode()}"
CANONICAL = re.compile(r"[1-9][0-9]{0,19}", re.ASCII)
FAMILIES = ("webhook", "svix")
NAMES = ("id", "timestamp", "signature")


def now() -> str:
    return str(int(time.time()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    headers: Mapping[str, str]
    body: bytes = b"{}"
    secret: str = SECRET

    def values(self, name: str) -> list[str]:
        return [self.headers[key] for family in FAMILIES if (key := f"{family}-{name}") in self.headers]

    def entries(self) -> list[str]:
        return [entry for value in self.values("signature") for entry in value.split(" ")]


@dataclass(frozen=True, slots=True)
class Parts:
    """A message's three headers. Without `given` its signature is a good one."""

    message_id: str = "msg_1"
    when: str = field(default_factory=now)
    given: str | None = None


def ours(case: Case) -> bool:
    try:
        key = SCHEME.load_key(case.secret, Options())
        SCHEME.verify(request(case.body, dict(case.headers)), trust(key, now=datetime.now(UTC)))
    except (WebhookRejected, UnusableSecret):
        return False
    return True


def theirs(case: Case) -> bool:
    try:
        Webhook(case.secret).verify(case.body, dict(case.headers), json_parse=False)
    except (WebhookVerificationError, ValueError, TypeError):
        return False
    return True


def svix(case: Case) -> bool:
    try:
        SvixWebhook(case.secret).verify(case.body, dict(case.headers))
    except (WebhookVerificationError, ValueError, TypeError):
        return False
    return True


def made(
    family: str = "webhook",
    parts: Parts | None = None,
    body: bytes = b"{}",
    change: Callable[[str], str] = lambda text: text,
) -> dict[str, str]:
    """The headers; `change` is made on the signature's."""
    found = parts or Parts()
    given = signature(body, SECRET, found.message_id, found.when) if found.given is None else found.given
    values = (found.message_id, found.when, change(given))
    return {f"{family}-{name}": value for name, value in zip(NAMES, values, strict=True)}


def some_secret(random: Random) -> str:
    encoded = base64.b64encode(random.randbytes(random.randrange(24, 65))).decode()
    return random.choice(["whsec_", ""]) + (encoded if random.random() < 0.7 else encoded.rstrip("="))


def some_headers(random: Random, family: str, secret: str, body: bytes) -> dict[str, str]:
    message_id = random.choice(["msg_1", "a.b", "é", "wh_685c059ae39c8190af8c71ed1022a24d", "-"])
    when = str(int(now()) + some_skew(random))
    padded = f"whsec_{padded_key(secret)}"
    good = signature(body, padded, message_id, when)
    others = [
        good,
        signature(body, SECRET, message_id, when),
        good.replace("v1,", "v1a,"),
        good.replace("v1,", "v2,"),
        "v1,AAAA",
        "v1,",
        "v1",
        "v1,a,b",
        "",
    ]
    entries = [good, *random.choices(others, k=random.choice([0, 0, 1, 2, 12]))]
    if random.random() < 0.5:
        random.shuffle(entries)
    parts = Parts(message_id, when, " ".join(entries))
    headers = made(family, parts)
    if random.random() < 0.3:
        name = random.choice(list(headers))
        headers[name] = spoilt(random, headers[name])
    if random.random() < 0.05:
        del headers[random.choice(list(headers))]
    return headers


def padded_key(secret: str) -> str:
    text = secret.removeprefix("whsec_")
    return text + "=" * (-len(text) % 4)


def some_case(random: Random, *families: str) -> Case:
    secret, body = some_secret(random), some_body(random)
    headers: dict[str, str] = {}
    for family in families:
        headers |= some_headers(random, family, secret, body)
    if random.random() < 0.2:
        body += b" "
    return Case(headers=headers, body=body, secret=secret)


def other_base64(entry: str) -> bool:
    return entry.startswith("v1,") and canonical_base64(entry.removeprefix("v1,")) is None


DIFFERENCES: list[Difference[Case]] = [
    Difference(
        reason="the library drops characters that are not base64 and spare bits; we take one spelling only",
        applies=lambda case: any(other_base64(entry) for entry in case.entries()),
        example=lambda: Case(headers=made(change=lambda good: f"{good[:9]}!{good[9:]}")),
        ours=False,
    ),
    Difference(
        reason="the library reads the time as a float, and signs that; we take digits, signed as they came",
        applies=lambda case: not all(CANONICAL.fullmatch(value) for value in case.values("timestamp")),
        example=lambda: Case(
            headers={
                name: f"{value}.0" if name.endswith("timestamp") else value for name, value in made().items()
            }
        ),
        ours=False,
    ),
    Difference(
        reason="an entry that is not a version and one text makes the library raise; we skip it",
        applies=lambda case: any(entry.count(",") != 1 for entry in case.entries()),
        example=lambda: Case(headers=made(change=lambda good: f"v1 {good}")),
        ours=True,
    ),
    Difference(
        reason="the library parts the signatures at each single space; we part them at any white space",
        applies=lambda case: any(value.split() != value.split(" ") for value in case.values("signature")),
        example=lambda: Case(headers=made(change=lambda good: f"v1a,AAAA\t{good}")),
        ours=True,
    ),
    Difference(
        reason="the library tries any number of signatures, we try ten",
        applies=lambda case: len([e for e in case.entries() if e.startswith("v1")]) > 10,
        example=lambda: Case(headers=made(change=lambda good: " ".join([*["v1,AAAA"] * 10, good]))),
        ours=False,
    ),
    Difference(
        reason="the library raises on a body that is not UTF-8; we verify its bytes and refuse to read it",
        applies=lambda case: not is_text(case.body),
        example=lambda: Case(headers=made(body=b"\xff"), body=b"\xff"),
        ours=True,
    ),
    Difference(
        reason="a signature beyond ASCII makes the library raise; we skip it",
        applies=lambda case: not all(value.isascii() for value in case.values("signature")),
        example=lambda: Case(headers=made(change=lambda good: f"v1,é {good}")),
        ours=True,
    ),
]
FAMILY_DIFFERENCES: list[Difference[Case]] = [
    Difference(
        reason="svix takes its own headers first, one by one; we take one family whole, webhook-* first",
        applies=lambda case: len(case.headers) > 3,
        example=lambda: Case(headers={**made("webhook", Parts(given="v1,AAAA")), **made("svix")}),
        ours=False,
    ),
]


def short_key() -> Case:
    secret = f"whsec_{base64.b64encode(bytes(23)).decode()}"
    when = now()
    headers = made(parts=Parts("msg_1", when, signature(b"{}", secret, "msg_1", when)))
    return Case(headers=headers, secret=secret)


KEY_DIFFERENCES: list[Difference[Case]] = [
    Difference(
        reason="the library takes keys of any length; we take the specification's 24 to 64 bytes",
        applies=lambda case: len(base64.b64decode(padded_key(case.secret))) not in range(24, 65),
        example=short_key,
        ours=False,
    ),
]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_the_verdict_is_the_librarys(seed: int) -> None:
    verdicts = compare(seed, lambda random: some_case(random, "webhook"), ours, theirs, DIFFERENCES)
    assert verdicts[True] > 5
    assert verdicts[False] > 5


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), families=st.sampled_from([["svix"], ["webhook"], ["svix", "webhook"]]))
def test_the_verdict_is_that_of_svix(seed: int, families: list[str]) -> None:
    differences = [*DIFFERENCES, *FAMILY_DIFFERENCES]
    verdicts = compare(seed, lambda random: some_case(random, *families), ours, svix, differences)
    assert verdicts[True] > 5
    assert verdicts[False] > 5


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda difference: difference.reason)
def test_each_difference_is_one(difference: Difference[Case]) -> None:
    assert_differs(difference, ours, theirs)
    assert_differs(difference, ours, svix)


@pytest.mark.parametrize("difference", FAMILY_DIFFERENCES + KEY_DIFFERENCES, ids=lambda found: found.reason)
def test_each_difference_to_svix_is_one(difference: Difference[Case]) -> None:
    assert_differs(difference, ours, svix)


@given(
    key=st.binary(min_size=24, max_size=64),
    body=st.text(),
    message_id=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1),
    library=st.sampled_from([Webhook, SvixWebhook]),
    family=st.sampled_from(FAMILIES),
)
def test_what_the_libraries_sign_is_accepted(
    key: bytes, body: str, message_id: str, library: type[Webhook | SvixWebhook], family: str
) -> None:
    secret, when = f"whsec_{base64.b64encode(key).decode()}", datetime.now(UTC)
    given = library(secret).sign(message_id, when, body)
    headers = made(family, Parts(message_id, str(int(when.timestamp())), given))
    assert ours(Case(headers=headers, body=body.encode(), secret=secret))
