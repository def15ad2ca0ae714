"""The same verdict as the `slack-sdk` library's, but for the differences listed here."""

import re
from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slack_sdk.signature import Clock, SignatureVerifier

from devhost.senders.slack import signature
from shared.webhooks.base import Options
from shared.webhooks.rejections import WebhookRejected
from shared.webhooks.slack import Slack
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
from tests.unit.shared.webhooks.requests import NOW, request, trust

pytestmark = pytest.mark.oracle

SCHEME = Slack()
SECRET = "8f742231b10e8888abcd99aaabbb85a5"
TIME = str(int(NOW.timestamp()))
CANONICAL = re.compile(r"[1-9][0-9]{0,19}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    time: str
    signature: str
    body: bytes = b"{}"
    secret: str = SECRET


class TestClock(Clock):
    __test__ = False

    def now(self) -> float:
        return NOW.timestamp()


def ours(case: Case) -> bool:
    headers = {"x-slack-request-timestamp": case.time, "x-slack-signature": case.signature}
    try:
        SCHEME.verify(request(case.body, headers), trust(SCHEME.load_key(case.secret, Options())))
    except WebhookRejected:
        return False
    return True


def theirs(case: Case) -> bool:
    headers = {"X-Slack-Request-Timestamp": case.time, "X-Slack-Signature": case.signature}
    try:
        return SignatureVerifier(case.secret, TestClock()).is_valid_request(case.body, headers)
    except (ValueError, TypeError):
        return False


def some_case(random: Random) -> Case:
    secret, body = some_key(random, 32), some_body(random)
    time = str(int(NOW.timestamp()) + random.choice([some_skew(random), -300, 300, -301, 301]))
    if random.random() < 0.2:
        time = spoilt(random, time)
    given = signature(body, random.choice([secret, secret, secret, "another secret of Slack's"]), time)
    if random.random() < 0.2:
        given = spoilt(random, given)
    if random.random() < 0.1:
        time = str(int(NOW.timestamp()) + 1)
    if random.random() < 0.2:
        body += b" "
    return Case(time=time, signature=given, body=body, secret=secret)


DIFFERENCES: list[Difference[Case]] = [
    Difference(
        reason="the library takes every spelling of a number; we take the usual one",
        applies=lambda case: not CANONICAL.fullmatch(case.time),
        example=lambda: Case(time=f"+{TIME}", signature=signature(b"{}", SECRET, f"+{TIME}")),
        ours=False,
    ),
    Difference(
        reason="the library raises on a body that is not UTF-8; we verify its bytes and refuse to read it",
        applies=lambda case: not is_text(case.body),
        example=lambda: Case(time=TIME, signature=signature(b"\xff", SECRET, TIME), body=b"\xff"),
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
    signed = SignatureVerifier(key).generate_signature(timestamp=TIME, body=body)
    assert signed is not None
    assert ours(Case(time=TIME, signature=signed, body=body.encode(), secret=key))
