"""Slack's events, commands and clicks."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote_plus, urlencode

import pytest

from devhost.senders.slack import signed
from shared.webhooks.base import Reply, WebhookRequest
from shared.webhooks.rejections import (
    MalformedBody,
    UnsupportedMediaType,
)
from tests.unit.shared.webhooks.requests import NOW, delivered, trust
from tests.unit.shared.webhooks.slack_requests import (
    EVENT,
    KEY,
    SCHEME,
    SECRET,
    read,
    refused,
    sent,
    with_headers,
)

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


def form(fields: dict[str, str]) -> WebhookRequest:
    return sent(urlencode(fields).encode())


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
