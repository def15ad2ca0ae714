"""Slack's signature; its events, commands and clicks; its handshake."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote_plus, urlencode

import pytest
from hypothesis import given, settings

from devhost.senders.slack import signature, signed
from shared.webhooks.base import Options, Reply, UnusableSecret, WebhookEvent, WebhookRequest
from shared.webhooks.rejections import (
    BadSignature,
    MalformedBody,
    StaleTimestamp,
    UnsupportedMediaType,
)
from shared.webhooks.slack import Slack
from tests.unit.shared.webhooks.requests import NOW, delivered, request, trust
from tests.unit.shared.webhooks.tampering import Vector, changes, flips, refusal

SCHEME = Slack()
SECRET = "an invented secret of the tests"
KEY = SECRET.encode()
TIME = str(int(NOW.timestamp()))
EVENT: dict[str, Any] = {
    "type": "event_callback",
    "team_id": "T1",
    "api_app_id": "A1",
    "event_id": "Ev1",
    "event_time": 1785147295,
    "event": {"type": "message", "subtype": "channel_join", "channel": "C1"},
}
CLICK: dict[str, Any] = {
    "type": "block_actions",
    "team": {"id": "T1", "domain": "example"},
    "api_app_id": "A1",
    "trigger_id": "12345.98765.abcd",
    "actions": [{"action_id": "approve", "value": "*bold* ~ 100% + more"}],
}
COMMAND = {
    "command": "/summarize",
    "text": "*bold* ~x~ 50%",
    "team_id": "T1",
    "api_app_id": "A1",
    "trigger_id": "13345224609.738474920.8088930838d88f008e0",
}

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


def sent(document: Any, content_type: str | None = None) -> WebhookRequest:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return delivered(signed(body, SECRET, now=NOW, content_type=content_type))


def form(fields: dict[str, str]) -> WebhookRequest:
    return sent(urlencode(fields).encode())


def read(incoming: WebhookRequest) -> WebhookEvent:
    found = SCHEME.read(incoming, trust())
    assert not isinstance(found, Reply)
    (event,) = found
    return event


def refused(incoming: WebhookRequest) -> bool:
    try:
        SCHEME.verify(incoming, trust(KEY))
    except BadSignature:
        return True
    return False


def with_headers(**changed: str) -> WebhookRequest:
    incoming = sent(EVENT)
    headers = {name.replace("_", "-"): value for name, value in changed.items()}
    return replace(incoming, headers={**incoming.headers, **headers})


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


def test_an_event_has_its_inner_type_and_subtype() -> None:
    event = read(sent(EVENT))
    assert (event.event_id, event.event_type, event.account, event.event_time) == (
        "Ev1",
        "message.channel_join",
        "T1:A1",
        datetime(2026, 7, 27, 10, 14, 55, tzinfo=UTC),
    )
    assert event.payload == EVENT


def test_an_outer_event_without_an_inner_one_is_known_by_its_body() -> None:
    limited = {"type": "app_rate_limited", "team_id": "T1", "api_app_id": "A1", "minute_rate_limited": 1}
    first, again, other = (read(sent({**limited, "minute_rate_limited": minute})) for minute in (1, 1, 2))
    assert first.event_type == "app_rate_limited"
    assert first.event_id == again.event_id != other.event_id


@pytest.mark.case(90)
def test_a_retry_with_a_new_time_has_the_same_id() -> None:
    body = json.dumps(EVENT).encode()
    later = delivered(signed(body, SECRET, now=NOW + timedelta(minutes=5)))
    later = replace(later, headers={**later.headers, "x-slack-retry-num": "2"})
    assert read(later).event_id == read(sent(EVENT)).event_id


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


@pytest.mark.case(13)
def test_a_click_is_the_json_in_the_form_whose_text_is_what_is_signed() -> None:
    incoming = form({"payload": json.dumps(CLICK)})
    assert SCHEME.verify(incoming, trust(KEY)).secret_index == 0
    event = read(incoming)
    assert (event.event_id, event.event_type, event.account) == ("12345.98765.abcd", "block_actions", "T1:A1")
    assert event.payload == CLICK
    assert json.loads(event.raw) == CLICK


@pytest.mark.case(14)
def test_a_form_is_verified_as_it_was_written_however_its_writer_escapes() -> None:
    text = json.dumps(CLICK)
    plus = f"payload={quote_plus(text)}"
    twenty = plus.replace("+", "%20").replace("%2A", "*").replace("%7E", "~")
    for body in (plus, twenty, plus.replace("%2A", "*")):
        incoming = sent(body.encode())
        assert SCHEME.verify(incoming, trust(KEY)).secret_index == 0
        assert read(incoming).payload["actions"][0]["value"] == "*bold* ~ 100% + more"
    assert refused(replace(sent(plus.encode()), body=twenty.encode()))


def test_a_command_is_an_event_of_its_own_type() -> None:
    event = read(form(COMMAND))
    assert (event.event_type, event.account) == ("command.summarize", "T1:A1")
    assert event.event_id == COMMAND["trigger_id"]
    assert event.payload["text"] == "*bold* ~x~ 50%"
    assert json.loads(event.raw) == COMMAND


def test_a_form_without_a_trigger_is_known_by_its_body() -> None:
    fields = {name: value for name, value in COMMAND.items() if name != "trigger_id"}
    assert (
        read(form(fields)).event_id == read(form(fields)).event_id != read(form({**fields, "a": ""})).event_id
    )
    assert read(form({"payload": json.dumps({**CLICK, "trigger_id": None})})).event_id.startswith("sha256-")


def test_a_form_is_answered_with_nothing_to_show_and_an_event_with_our_own_answer() -> None:
    answer = SCHEME.answer(form(COMMAND))
    assert answer is not None
    assert (answer.status, answer.body) == (200, b"")
    assert SCHEME.answer(sent(EVENT)) is None


def test_a_signed_probe_of_the_certificate_is_answered() -> None:
    found = SCHEME.read(form({"ssl_check": "1", "token": "t"}), trust())
    assert isinstance(found, Reply)
    assert (found.status, found.body) == (200, b"")


def test_texts_that_cannot_be_encoded_are_mended() -> None:
    odd = {**CLICK, "trigger_id": "\ud800", "team": {"id": "T\ud800"}}
    event = read(form({"payload": json.dumps(odd)}))
    assert (event.event_id, event.account) == ("\ufffd", "T\ufffd:A1")


@pytest.mark.case(17, 98, 108)
@pytest.mark.parametrize(
    "document",
    [
        b"[]",
        b"null",
        b'"x"',
        b"1",
        {},
        {**EVENT, "type": None},
        {**EVENT, "event": None},
        {**EVENT, "event": []},
        {**EVENT, "event": {}},
        {**EVENT, "event": {"type": ["message"]}},
        {**EVENT, "event_id": ""},
        {name: value for name, value in EVENT.items() if name != "event_id"},
    ],
)
def test_a_signed_body_of_another_shape_is_malformed(document: Any) -> None:
    with pytest.raises(MalformedBody):
        SCHEME.read(sent(document, "application/json"), trust())


@pytest.mark.case(17, 108)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"payload=",
        b"payload=%5B%5D",
        b"payload=%7B%7D",
        b"payload=%FF",
        b"\xff",
        b"text=no+command",
        b"command=",
        b"command=%2Fa&command=%2Fb",
        b"payload=%7B%7D&payload=%7B%7D",
        b"&".join(b"f%d=1" % number for number in range(1001)),
    ],
)
def test_a_signed_form_of_another_shape_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedBody):
        SCHEME.read(sent(body, "application/x-www-form-urlencoded"), trust())


@pytest.mark.case(15)
@pytest.mark.parametrize(
    "changed",
    [
        {"content_type": "text/plain"},
        {"content_type": ""},
        {"content_type": "application/x-www-form-urlencoded; charset=utf-16"},
        {"content_encoding": "gzip"},
    ],
)
def test_another_media_type_or_encoding_is_unsupported(changed: dict[str, str]) -> None:
    with pytest.raises(UnsupportedMediaType):
        SCHEME.read(with_headers(**changed), trust())


@pytest.mark.case(104)
def test_slack_is_answered_before_its_three_seconds_are_over() -> None:
    assert SCHEME.answer_within < 3
