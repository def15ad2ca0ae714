"""How the events of a sender described in pipeline.toml are read."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from devhost.senders.generic_hmac import signed
from shared.sizes import MIB
from shared.webhooks.base import Trust, WebhookEvent, WebhookRequest
from shared.webhooks.generic_hmac import GenericHmac
from shared.webhooks.hmac_options import HmacOptions
from shared.webhooks.rejections import (
    MalformedBody,
    UnsupportedMediaType,
)
from tests.unit.shared.webhooks.requests import FIVE_MINUTES, NOW, delivered

SCHEME = GenericHmac()
SECRET = "an invented secret of the tests"
BODY = b'{"event":"note.added","owner":{"id":7},"at":1785147295,"text":"Hello"}'


def options(**table: Any) -> HmacOptions:
    return HmacOptions.model_validate({"header": "X-Signature", **table})


def trust(found: HmacOptions, *keys: bytes, tolerance: timedelta = FIVE_MINUTES) -> Trust[HmacOptions]:
    return Trust(options=found, now=NOW, tolerance=tolerance, keys=keys or [SECRET.encode()])


def sent(body: bytes = BODY, now: datetime = NOW, **table: Any) -> WebhookRequest:
    return delivered(signed(body, SECRET, now=now, **{"header": "X-Signature", **table}))


def read(document: Any, found: HmacOptions, **headers: str) -> WebhookEvent:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    incoming = sent(body)
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    (event,) = SCHEME.read(replace(incoming, headers={**incoming.headers, **headers}), trust(found))
    return event


def test_an_event_is_read_by_the_sources_expressions() -> None:
    found = options(id="owner.id", type="event", account="owner.id", time="at")
    event = read(BODY, found)
    assert (event.event_id, event.event_type, event.account, event.event_time) == (
        "7",
        "note.added",
        "7",
        datetime(2026, 7, 27, 10, 14, 55, tzinfo=UTC),
    )
    assert event.raw == BODY


def test_an_expression_may_call_a_function_on_what_is_long() -> None:
    found = options(id="sum(counts)", type="not_null(note, event)", account="keys(@)[0]")
    document = {"event": "note.added", "counts": [1] * 70_000, "text": "x" * MIB}
    event = read(document, found)
    assert (event.event_id, event.event_type, event.account) == ("70000", "note.added", "event")


def test_type_and_id_may_stand_in_headers() -> None:
    found = options(id_header="X-Id", type_header="X-Type")
    event = read(BODY, found, x_id="id-1", x_type="note.added\n")
    assert (event.event_id, event.event_type) == ("id-1", "note.added?")


def test_an_id_in_the_signed_body_goes_before_one_in_a_header() -> None:
    found = options(id_header="X-Id", id="event")
    assert read(BODY, found, x_id="id-1").event_id == "note.added"
    assert read(b'{"event":null}', found, x_id="id-1").event_id == "id-1"


@pytest.mark.case(98)
@pytest.mark.parametrize(
    "body", [b"{}", b'{"event":""}', b'{"event":true}', b'{"event":{"a":1}}', b'{"event":1.5}']
)
def test_without_an_id_the_body_is_the_identity(body: bytes) -> None:
    event = read(body, options(id="event"))
    assert event.event_id.startswith("sha256-")
    assert event.event_id == read(body, options()).event_id


def test_what_is_not_told_is_empty() -> None:
    event = read(b"{}", options(type="event", account="owner.id", time="at"))
    assert (event.event_type, event.account, event.event_time) == ("", "", None)


def test_a_time_in_iso_8601_is_read_too() -> None:
    assert read(b'{"at":"2026-07-27T10:14:55Z"}', options(time="at")).event_time == datetime(
        2026, 7, 27, 10, 14, 55, tzinfo=UTC
    )


def test_texts_that_cannot_be_encoded_are_mended() -> None:
    event = read(rb'{"event":"\ud800"}', options(id="event", account="event", type="event"))
    assert (event.event_id, event.account, event.event_type) == ("\ufffd", "\ufffd", "\ufffd")


def test_an_expression_that_does_not_work_on_the_body_is_malformed() -> None:
    with pytest.raises(MalformedBody, match="expression"):
        read(b'{"event":5}', options(id="length(event)"))


@pytest.mark.case(17, 108)
@pytest.mark.parametrize("body", [b"", b"[]", b"null", b'"x"', b"1", b"\xff"])
def test_a_signed_body_that_is_no_object_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedBody):
        read(body, options())


def test_another_media_type_is_unsupported() -> None:
    with pytest.raises(UnsupportedMediaType):
        read(BODY, options(), content_type="text/plain")
