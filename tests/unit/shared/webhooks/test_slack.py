"""Slack's signature, its time, its secret, and its handshake."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings

from devhost.senders.slack import signature, signed
from shared.webhooks.base import Options, Reply, UnusableSecret
from shared.webhooks.rejections import (
    BadSignature,
    MalformedBody,
    StaleTimestamp,
)
from tests.unit.shared.webhooks.requests import NOW, delivered, request, trust
from tests.unit.shared.webhooks.slack_requests import (
    EVENT,
    KEY,
    SCHEME,
    SECRET,
    TIME,
    read,
    refused,
    sent,
    with_headers,
)
from tests.unit.shared.webhooks.tampering import Vector, changes, flips, refusal

# https://docs.slack.dev/authentication/verifying-requests-from-slack/
DOCUMENTED = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
    b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
    b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554"
    b"%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)
PUBLISHED = Vector(
    name="documentation",
    scheme=SCHEME,
    secret="8f742231b10e8888abcd99yyyzzz85a5",
    request=request(
        DOCUMENTED,
        {
            "content-type": "application/x-www-form-urlencoded",
            "x-slack-request-timestamp": "1531420618",
            "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
        },
    ),
    signed_headers=("x-slack-request-timestamp", "x-slack-signature"),
    now=datetime.fromtimestamp(1531420618, UTC),
)


def test_the_published_example_verifies_and_is_a_command() -> None:
    assert refusal(PUBLISHED) is None
    event = read(PUBLISHED.request)
    assert (event.event_type, event.event_id, event.account) == (
        "command.webhook-collect",
        "398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
        "T1DC2JH3J:",
    )


@settings(max_examples=300)
@given(changes([PUBLISHED]))
def test_the_published_example_with_any_other_byte_anywhere_is_refused(changed: Vector) -> None:
    assert isinstance(refusal(changed), BadSignature), changed.name


def test_the_published_example_with_any_bit_turned_over_is_refused() -> None:
    assert [changed.name for changed in flips(PUBLISHED) if refusal(changed) is None] == []


GOOD = signature(json.dumps(EVENT).encode(), SECRET, TIME)


@pytest.mark.case(27, 29)
@pytest.mark.parametrize(
    "header",
    [
        "",
        " ",
        "v0=",
        "v0=é",
        "v0=\udcff",
        GOOD.removeprefix("v0="),
        GOOD.replace("v0", "v1"),
        GOOD.replace("v0", "V0"),
        GOOD.upper(),
        f"{GOOD} ",
        f"{GOOD}, {GOOD}",
        f"{GOOD},{GOOD}",
    ],
)
def test_a_signature_of_another_form_is_refused(header: str) -> None:
    assert not refused(with_headers(x_slack_signature=GOOD))
    assert refused(with_headers(x_slack_signature=header))


@pytest.mark.parametrize(
    "time", ["", " ", "é", "1e9", f"+{TIME}", f"0{TIME}", f"{TIME}.0", "-1", "9" * 21, "٣"]
)
def test_a_time_of_another_form_is_refused_even_if_it_was_signed_so(time: str) -> None:
    body = json.dumps(EVENT).encode()
    assert refused(
        with_headers(x_slack_request_timestamp=time, x_slack_signature=signature(body, SECRET, time))
    )


@pytest.mark.case(54, 58)
@pytest.mark.parametrize(("seconds", "fresh"), [(-301, False), (-300, True), (300, True), (301, False)])
def test_the_time_may_be_five_minutes_off_to_either_side(seconds: int, fresh: bool) -> None:
    incoming = delivered(signed(b"{}", SECRET, now=NOW + timedelta(seconds=seconds)))
    if fresh:
        assert SCHEME.verify(incoming, trust(KEY)).secret_index == 0
    else:
        with pytest.raises(StaleTimestamp):
            SCHEME.verify(incoming, trust(KEY))


def test_the_key_is_the_secrets_text_and_is_not_decoded_from_hex() -> None:
    assert (
        SCHEME.load_key("8f742231b10e8888abcd99aaabbb85a5", Options()) == b"8f742231b10e8888abcd99aaabbb85a5"
    )


@pytest.mark.case(51)
@pytest.mark.parametrize(
    "secret", ["xoxb-0123456789-0123456789", "xapp-1-A0123456789-abc", "xoxe.xoxp-1-abcdefgh"]
)
def test_a_token_in_the_place_of_the_secret_is_refused_with_a_hint(secret: str) -> None:
    with pytest.raises(UnusableSecret, match="it is a token; the app's signing secret is wanted"):
        SCHEME.load_key(secret, Options())


@pytest.mark.case(84)
def test_a_signed_handshake_is_answered_with_its_challenge() -> None:
    hello = sent({"type": "url_verification", "token": "t", "challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY"})
    assert SCHEME.verify(hello, trust(KEY)).secret_index == 0
    assert SCHEME.read(hello, trust()) == Reply(
        status=200, body=b"3eZbrw1aBm2rZgRNFdxV2595E9CY", content_type="text/plain; charset=utf-8"
    )


@pytest.mark.case(84)
def test_an_unsigned_handshake_is_refused() -> None:
    hello = request(b'{"type":"url_verification","challenge":"x"}', {"content-type": "application/json"})
    assert refused(hello)


@pytest.mark.case(84)
@pytest.mark.parametrize("challenge", [None, "", 5, ["x"]])
def test_a_handshake_without_a_challenge_is_malformed(challenge: object) -> None:
    with pytest.raises(MalformedBody, match="`challenge`"):
        SCHEME.read(sent({"type": "url_verification", "challenge": challenge}), trust())


@pytest.mark.case(104)
def test_slack_is_answered_before_its_three_seconds_are_over() -> None:
    assert SCHEME.answer_within < 3
