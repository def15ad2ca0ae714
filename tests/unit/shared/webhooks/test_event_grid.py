"""Event Grid: both schemas, batches, and the handshakes of each."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from devhost.senders import event_grid as sender
from shared.webhooks.base import Reply, Trust, WebhookEvent, WebhookRequest
from shared.webhooks.event_grid import EventGrid
from shared.webhooks.rejections import BadSignature, MalformedBody, UnsupportedMediaType
from tests.unit.shared.webhooks.requests import FIVE_MINUTES, NOW
from tests.unit.shared.webhooks.sources import EXAMPLES

SCHEME = EventGrid()
SECRET = EXAMPLES["event-grid-header"].settings["A_SECRET"]
TOPIC = "/subscriptions/11112222-3333-4444-5555-666677778888/topics/documents"


def grid_event(number: int = 1, **more: Any) -> dict[str, Any]:
    found = {
        "id": f"event-{number}",
        "topic": TOPIC,
        "subject": "/blobs/a.pdf",
        "eventType": "Microsoft.Storage.BlobCreated",
        "eventTime": "2026-07-27T10:14:00.1234567Z",
        "data": {"url": "https://example.com/a.pdf"},
        "dataVersion": "1",
        "metadataVersion": "1",
    } | more
    return {name: value for name, value in found.items() if value is not None}


def cloud_event(number: int = 1, **more: Any) -> dict[str, Any]:
    found = {
        "specversion": "1.0",
        "id": f"event-{number}",
        "source": TOPIC,
        "type": "Microsoft.Storage.BlobCreated",
        "time": "2026-07-27T10:14:00Z",
        "data": {},
    } | more
    return {name: value for name, value in found.items() if value is not None}


def trust(name: str = "event-grid-header") -> Trust[Any]:
    return Trust(options=EXAMPLES[name].options, now=NOW, tolerance=FIVE_MINUTES, keys=[SECRET.encode()])


def received(document: Any, content_type: str | None = None) -> Reply | tuple[WebhookEvent, ...]:
    """What Event Grid's delivery of the document is read as, once verified."""
    raw = document if isinstance(document, bytes) else json.dumps(document).encode()
    headers, query, body = sender.signed(raw, SECRET, now=NOW, content_type=content_type)
    sent = WebhookRequest(method="POST", headers=headers, query=query, url="https://e.com/a", body=body)
    assert SCHEME.verify(sent, trust()).secret_index == 0
    return SCHEME.read(sent, trust())


def events(document: Any, content_type: str | None = None) -> tuple[WebhookEvent, ...]:
    found = received(document, content_type)
    assert not isinstance(found, Reply)
    return found


def test_an_event_of_event_grids_own_schema_is_read() -> None:
    (event,) = events([grid_event()])
    assert (event.event_id, event.event_type, event.account) == (
        "event-1",
        "Microsoft.Storage.BlobCreated",
        TOPIC,
    )
    assert event.event_time == datetime(2026, 7, 27, 10, 14, 0, 123456, tzinfo=UTC)
    assert event.payload == grid_event()
    assert json.loads(event.raw) == grid_event()


def test_a_cloud_event_is_read_alone_in_a_batch_and_in_a_plain_list() -> None:
    for document, kind in (
        (cloud_event(), None),
        ([cloud_event()], None),
        ([cloud_event()], "application/json"),
        (cloud_event(), "Application/CloudEvents+JSON; Charset=UTF-8"),
    ):
        (event,) = events(document, kind)
        assert (event.event_id, event.event_type, event.account) == (
            "event-1",
            "Microsoft.Storage.BlobCreated",
            TOPIC,
        )
        assert event.event_time == datetime(2026, 7, 27, 10, 14, tzinfo=UTC)


@pytest.mark.parametrize("make", [grid_event, cloud_event])
def test_the_largest_batch_gives_each_event_in_its_order(make: Any) -> None:
    found = events([make(number) for number in range(5000)])
    assert [event.event_id for event in found] == [f"event-{number}" for number in range(5000)]
    assert sum(len(event.raw) for event in found) < 5000 * 600


def test_events_of_the_same_id_are_told_apart_by_their_topic_or_source() -> None:
    one, other = events([grid_event(topic="a"), grid_event(topic="b")])
    assert (one.event_id, one.account) != (other.event_id, other.account)
    one, other = events([cloud_event(source="a"), cloud_event(source="b")])
    assert (one.event_id, one.account) != (other.event_id, other.account)


@pytest.mark.case(88)
def test_an_empty_batch_holds_no_event() -> None:
    assert events([]) == ()
    assert events([], "application/cloudevents-batch+json") == ()


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"\xff",
        {"id": "event-1"},
        None,
        [1],
        [[grid_event()]],
        [grid_event(id=None)],
        [grid_event(id=7)],
        [grid_event(eventType=None)],
        [grid_event(), grid_event(id="")],
        cloud_event(id=None),
        cloud_event(source=None),
        cloud_event(type=7),
        [cloud_event(), {}],
    ],
)
def test_an_event_of_another_shape_makes_the_whole_batch_malformed(document: Any) -> None:
    with pytest.raises(MalformedBody):
        received(document)


@pytest.mark.parametrize("topic", [None, 7, ["a"]])
def test_an_event_without_a_topic_belongs_to_nobody(topic: Any) -> None:
    assert events([grid_event(topic=topic)])[0].account == ""


def test_what_cannot_be_written_as_utf_8_is_replaced() -> None:
    (event,) = events([grid_event(topic="\ud800", subject="\ud800")])
    assert event.account.encode()
    assert event.raw.decode()


@pytest.mark.parametrize("kind", ["text/plain", "", "application/xml", "application/json; charset=utf-16"])
def test_another_media_type_is_unsupported(kind: str) -> None:
    with pytest.raises(UnsupportedMediaType):
        received([grid_event()], kind or "x")


VALIDATION = grid_event(
    eventType=sender.VALIDATION,
    data={"validationCode": "512d38b6-c7b8", "validationUrl": "http://169.254.169.254/validate"},
)


@pytest.mark.case(115)
def test_the_validation_code_goes_back_with_200_and_its_address_is_left_alone() -> None:
    reply = received([VALIDATION])
    assert isinstance(reply, Reply)
    assert (reply.status, reply.content_type) == (200, "application/json")
    assert json.loads(reply.body) == {"validationResponse": "512d38b6-c7b8"}


def test_a_handshake_is_answered_only_to_who_knows_the_secret() -> None:
    headers, query, body = sender.signed(json.dumps([VALIDATION]).encode(), "another secret", now=NOW)
    sent = WebhookRequest(method="POST", headers=headers, query=query, url="https://e.com/a", body=body)
    with pytest.raises(BadSignature):
        SCHEME.verify(sent, trust())


def test_a_handshake_without_its_code_is_malformed() -> None:
    for data in (None, {}, {"validationCode": ""}, {"validationCode": 7}, "x"):
        with pytest.raises(MalformedBody):
            received([{**VALIDATION, "data": data}])


def test_that_a_subscription_ended_is_an_event_like_others() -> None:
    (event,) = events([grid_event(eventType="Microsoft.EventGrid.SubscriptionDeletedEvent")])
    assert event.event_type == "Microsoft.EventGrid.SubscriptionDeletedEvent"


def options_request(query: str = "", **headers: str) -> WebhookRequest:
    found = {name.replace("_", "-"): value for name, value in headers.items()}
    return WebhookRequest(method="OPTIONS", headers=found, query=query, url="https://e.com/a", body=b"")


@pytest.mark.case(86)
@pytest.mark.parametrize("origin", ["eventgrid.azure.net", " EventGrid.Azure.Net "])
def test_a_known_origin_gets_our_consent_to_deliver(origin: str) -> None:
    reply = SCHEME.greet(options_request(webhook_request_origin=origin, webhook_request_rate="120"), trust())
    assert reply is not None
    assert (reply.status, reply.body) == (200, b"")
    assert reply.headers == {
        "WebHook-Allowed-Origin": "eventgrid.azure.net",
        "WebHook-Allowed-Rate": "*",
        "Allow": "POST",
    }


@pytest.mark.case(86)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"webhook_request_origin": ""},
        {"webhook_request_origin": "evil.example"},
        {"webhook_request_origin": "eventgrid.azure.net.evil.example"},
        {"webhook_request_origin": "eventgrid.azure.net, evil.example"},
        {"webhook_request_origin": "*"},
        {"origin": "eventgrid.azure.net"},
    ],
)
def test_an_unknown_or_missing_origin_gets_none(headers: dict[str, str]) -> None:
    assert SCHEME.greet(options_request(**headers), trust()) is None


@pytest.mark.case(86)
def test_consent_for_a_source_with_its_secret_in_the_query_needs_the_secret() -> None:
    origin = {"webhook_request_origin": "eventgrid.azure.net"}
    checked = trust("event-grid-query")
    assert SCHEME.greet(options_request("code=" + SECRET.replace(" ", "%20"), **origin), checked) is not None
    with pytest.raises(BadSignature):
        SCHEME.greet(options_request("code=other", **origin), checked)


def test_a_batch_may_take_most_of_the_time_that_event_grid_waits() -> None:
    assert 15 <= SCHEME.answer_within <= 25
