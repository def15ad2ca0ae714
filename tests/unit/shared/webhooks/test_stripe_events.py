"""Stripe's snapshot and thin events."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from devhost.senders.stripe import signed
from shared.webhooks.base import WebhookEvent
from shared.webhooks.rejections import (
    MalformedBody,
    UnsupportedMediaType,
    WebhookRejected,
)
from shared.webhooks.stripe import Stripe
from tests.unit.shared.webhooks.requests import NOW, delivered, request, trust

SCHEME = Stripe()
SECRET = "whsec_an_invented_secret_of_the_tests"
KEY = SECRET.encode()
SNAPSHOT: dict[str, Any] = {
    "id": "evt_1",
    "object": "event",
    "account": "acct_1",
    "created": 1785147295,
    "data": {"object": {"id": "in_1", "object": "invoice"}},
    "livemode": True,
    "type": "invoice.paid",
}
THIN: dict[str, Any] = {
    "id": "evt_test_1",
    "object": "v2.core.event",
    "type": "v1.billing.meter.error_report_triggered",
    "livemode": False,
    "created": "2026-07-27T10:14:55.123Z",
    "related_object": {"id": "mtr_1", "type": "billing.meter", "url": "/v1/billing/meters/mtr_1"},
}
BODY = json.dumps(SNAPSHOT, indent=2).encode()


def read(document: Any) -> WebhookEvent:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    (event,) = SCHEME.read(delivered(signed(body, SECRET, now=NOW)), trust())
    return event


def test_a_snapshot_event_is_read() -> None:
    event = read(SNAPSHOT)
    assert (event.event_id, event.event_type, event.account, event.event_time) == (
        "evt_1",
        "invoice.paid",
        "acct_1:live",
        datetime(2026, 7, 27, 10, 14, 55, tzinfo=UTC),
    )
    assert event.payload == SNAPSHOT


@pytest.mark.case(111)
def test_a_thin_event_is_read_with_its_iso_time() -> None:
    event = read(THIN)
    assert (event.event_id, event.event_type, event.account, event.event_time) == (
        "evt_test_1",
        "v1.billing.meter.error_report_triggered",
        ":test",
        datetime(2026, 7, 27, 10, 14, 55, 123000, tzinfo=UTC),
    )


@pytest.mark.case(111)
@pytest.mark.parametrize("kind", [None, "", "invoice", ["event"], {"event": 1}, 1])
def test_what_is_neither_kind_of_event_is_malformed(kind: object) -> None:
    with pytest.raises(MalformedBody, match="`object`"):
        read({**SNAPSHOT, "object": kind})


@pytest.mark.parametrize(
    ("changed", "account"),
    [
        ({"livemode": False}, "acct_1:test"),
        ({"livemode": None}, "acct_1:"),
        ({"account": None}, ":live"),
        ({"account": None, "context": "acct_2"}, "acct_2:live"),
        ({"context": "acct_2"}, "acct_1:live"),
        ({"account": "a\ud800"}, "a\ufffd:live"),
    ],
)
def test_accounts_and_modes_are_told_apart(changed: dict[str, Any], account: str) -> None:
    assert read({**SNAPSHOT, **changed}).account == account


@pytest.mark.case(100)
def test_two_events_about_one_change_are_two_events_and_show_the_object() -> None:
    first, second = read(SNAPSHOT), read({**SNAPSHOT, "id": "evt_2"})
    assert first.event_id != second.event_id
    assert first.payload["data"]["object"]["id"] == second.payload["data"]["object"]["id"]


@pytest.mark.case(98, 108)
@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[]",
        b"null",
        b'"x"',
        b"1",
        {**SNAPSHOT, "id": None},
        {**SNAPSHOT, "id": ""},
        {**SNAPSHOT, "id": 5},
        {**SNAPSHOT, "type": ["invoice.paid"]},
        {**SNAPSHOT, "account": 5},
        {**SNAPSHOT, "account": []},
        {**SNAPSHOT, "account": None, "context": {}},
        {name: value for name, value in SNAPSHOT.items() if name != "id"},
    ],
)
def test_a_signed_body_of_another_shape_is_malformed(document: Any) -> None:
    with pytest.raises(MalformedBody):
        read(document)


@pytest.mark.parametrize("created", ["x", [], 10**30, True, None])
def test_a_time_that_cannot_be_read_is_left_out(created: object) -> None:
    assert read({**SNAPSHOT, "created": created}).event_time is None


@pytest.mark.parametrize(
    "headers",
    [{"content-type": "text/plain"}, {"content-type": "application/json", "content-encoding": "gzip"}],
)
def test_another_media_type_is_unsupported(headers: dict[str, str]) -> None:
    with pytest.raises(UnsupportedMediaType):
        SCHEME.read(request(BODY, headers), trust())


@pytest.mark.case(5, 6)
def test_bytes_that_are_no_text_verify_and_are_then_malformed() -> None:
    body = bytes(range(0x80, 0x100))
    sent = delivered(signed(body, SECRET, now=NOW))
    assert SCHEME.verify(sent, trust(KEY)).secret_index == 0
    with pytest.raises(WebhookRejected, match="not UTF-8") as caught:
        SCHEME.read(sent, trust())
    assert caught.value.status == 400
