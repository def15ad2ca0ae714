"""What Twilio's requests tell: type, identity and time of each event."""

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest

from shared.webhooks.base import WebhookEvent, WebhookRequest
from shared.webhooks.parsing import LARGEST_BATCH
from shared.webhooks.rejections import BadSignature, BodyTooLarge, MalformedBody, UnsupportedMediaType
from shared.webhooks.twilio_events import read_events
from tests.unit.shared.webhooks.requests import request
from tests.unit.shared.webhooks.sources import ACCOUNT_SID
from tests.unit.shared.webhooks.twilio_requests import incoming, read

FORM = "application/x-www-form-urlencoded"
OTHER_ACCOUNT = "AC" + "f" * 32


def form(**fields: str) -> WebhookEvent:
    body = urlencode({"AccountSid": ACCOUNT_SID, **fields}).encode()
    (event,) = read_events(request(body, {"content-type": FORM}), [ACCOUNT_SID])
    assert event.account == ACCOUNT_SID
    assert json.loads(event.raw) == event.payload
    return event


def json_request(document: Any) -> WebhookRequest:
    return request(json.dumps(document).encode(), {"content-type": "application/json"})


def events(document: Any) -> tuple[WebhookEvent, ...]:
    return read_events(json_request(document), [ACCOUNT_SID])


@pytest.mark.parametrize(
    ("fields", "kind", "event_id"),
    [
        (
            {"MessageSid": "SM1", "SmsSid": "SM1", "SmsStatus": "received"},
            "message.received",
            "SM1:received",
        ),
        (
            {"MessageSid": "SM1", "MessageStatus": "delivered", "SmsStatus": "sent"},
            "message.delivered",
            "SM1:delivered",
        ),
        ({"SmsSid": "SM1", "SmsStatus": "sent"}, "message.sent", "SM1:sent"),
        (
            {"CallSid": "CA1", "CallStatus": "completed", "SequenceNumber": "3"},
            "call.completed",
            "CA1:completed:3",
        ),
        (
            {"CallSid": "CA1", "RecordingSid": "RE1", "RecordingStatus": "completed"},
            "recording.completed",
            "RE1:completed",
        ),
    ],
)
def test_each_step_of_a_message_call_or_recording_is_an_event_of_its_own(
    fields: dict[str, str], kind: str, event_id: str
) -> None:
    event = form(**fields)
    assert (event.event_type, event.event_id) == (kind, event_id)
    assert form(**fields, Extra="1").event_id == event_id


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"CallSid": "CA1", "CallStatus": "in-progress", "Digits": "1"}, "call.in-progress"),
        ({"CallSid": "CA1", "TranscriptionSid": "TR1", "TranscriptionStatus": "done"}, "transcription.done"),
        ({"CallSid": "CA1", "RecordingSid": "RE1", "CallStatus": "ringing"}, "recording"),
        ({"MessageSid": "IM1", "EventType": "onMessageUpdated", "Body": "a"}, "event.onMessageUpdated"),
        ({"ConversationSid": "CH1", "EventType": "onConversationAdded"}, "event.onConversationAdded"),
        ({"SomethingNew": "1"}, "other"),
        ({"MessageSid": "not a sid", "SmsStatus": "sent"}, "other"),
    ],
)
def test_where_nothing_numbers_the_step_its_body_is_its_identity(fields: dict[str, str], kind: str) -> None:
    event = form(**fields)
    assert event.event_type == kind
    assert "sha256-" in event.event_id
    assert form(**fields).event_id == event.event_id
    assert form(**fields, Extra="1").event_id != event.event_id


@pytest.mark.parametrize(
    ("body", "again"),
    [
        ("MessageSid=SM1&SmsStatus=sent", "MessageSid=SM1&MessageSid=SM1&SmsStatus=sent&SmsStatus=sent"),
        ("CallSid=CA1&Digits=1", "Digits=1&CallSid=CA1"),
        ("CallSid=CA1&Digits=1+2", "CallSid=CA1&Digits=1%202"),
        ("CallSid=CA1&Digits=1", "%43allSid=CA1&Digits=1"),
    ],
)
def test_a_captured_form_in_another_spelling_is_the_same_event(body: str, again: str) -> None:
    """Both have one signature: it covers the distinct decoded fields, in order."""
    account = f"&AccountSid={ACCOUNT_SID}"
    first, second = (read(incoming(f"{text}{account}".encode()))[0] for text in (body, again))
    assert (first.event_id, first.payload) == (second.event_id, second.payload)


def test_the_time_of_a_calls_status_is_kept() -> None:
    event = form(CallSid="CA1", CallStatus="completed", Timestamp="Mon, 27 Jul 2026 12:15:00 +0200")
    assert event.event_time == datetime(2026, 7, 27, 10, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "Mon, 27 Jul 2026 12:15:00 -0000", "9" * 400, "\x00", "a b c d"]
)
def test_a_time_that_cannot_be_read_is_none(text: str) -> None:
    assert form(CallSid="CA1", Timestamp=text).event_time is None


def stream_event(number: int, **data: Any) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "id": f"EZ{number}",
        "type": "com.twilio.messaging.message.delivered",
        "source": "/2010-04-01/Accounts",
        "time": "2026-07-27T10:15:00.123Z",
        "data": data,
    }


def test_event_streams_send_lists_and_each_item_is_an_event() -> None:
    first, second = events([stream_event(1, accountSid=ACCOUNT_SID), stream_event(2)])
    assert (first.event_id, first.event_type) == ("EZ1", "com.twilio.messaging.message.delivered")
    assert (first.account, second.account) == (ACCOUNT_SID, "")
    assert first.event_time == datetime(2026, 7, 27, 10, 15, 0, 123000, tzinfo=UTC)
    assert json.loads(second.raw) == stream_event(2)


@pytest.mark.case(88)
def test_a_list_over_the_limit_of_batches_is_refused() -> None:
    with pytest.raises(BodyTooLarge, match="a batch over"):
        events([stream_event(1, accountSid=ACCOUNT_SID, pad="x" * LARGEST_BATCH)])


def test_an_empty_list_holds_no_event() -> None:
    assert events([]) == ()


def test_a_json_object_is_one_event() -> None:
    (event,) = events({"AccountSid": ACCOUNT_SID, "MessageSid": "SM1", "MessageStatus": "sent"})
    assert (event.event_id, event.event_type, event.account) == ("SM1:sent", "message.sent", ACCOUNT_SID)
    (event,) = events({"MessageSid": 7, "CallSid": ["CA1"]})
    assert (event.event_type, event.account) == ("other", "")


@pytest.mark.case(52)
@pytest.mark.parametrize("sid", [OTHER_ACCOUNT, "", 7, ["AC"], {}, True])
def test_json_of_another_account_is_refused(sid: Any) -> None:
    for document in ({"AccountSid": sid}, [stream_event(1, accountSid=sid)]):
        with pytest.raises(BadSignature):
            events(document)


@pytest.mark.parametrize("document", ["text", 1, None, [1], [[]], [{"id": "EZ1"}], [{"type": "a"}]])
def test_json_of_another_shape_is_malformed(document: Any) -> None:
    with pytest.raises(MalformedBody):
        events(document)


def test_another_media_type_is_unsupported() -> None:
    with pytest.raises(UnsupportedMediaType):
        read_events(request(b"<a/>", {"content-type": "text/xml"}), [ACCOUNT_SID])


@pytest.mark.case(52)
@pytest.mark.parametrize("name", ["AccountSid", "account_sid", "accountSid"])
def test_the_account_is_found_however_the_product_spells_it(name: str) -> None:
    def read(*fields: tuple[str, str]) -> WebhookEvent:
        sent = request(urlencode(fields).encode(), {"content-type": FORM})
        return read_events(sent, [ACCOUNT_SID])[0]

    assert read((name, ACCOUNT_SID)).account == ACCOUNT_SID
    for fields in (
        [(name, OTHER_ACCOUNT)],
        [(name, ACCOUNT_SID), ("AccountSid", OTHER_ACCOUNT)],
        [("a", "1")],
    ):
        with pytest.raises(BadSignature):
            read(*fields)
