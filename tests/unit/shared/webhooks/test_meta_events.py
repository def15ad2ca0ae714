"""What Meta's batches hold: WhatsApp's messages and statuses, Messenger's and Instagram's conversations."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.webhooks.base import WebhookEvent
from shared.webhooks.meta_events import read_events
from shared.webhooks.rejections import MalformedBody
from tests.unit.shared.webhooks.batches import PHONE_NUMBER_ID, WABA, message, status, whatsapp

NOON = datetime(2026, 7, 27, 10, 15, tzinfo=UTC)


def events(payload: Any) -> list[WebhookEvent]:
    return list(read_events(payload))


def entry(**more: Any) -> dict[str, Any]:
    return {"object": "page", "entry": [{"id": "1", "time": 1785147300000, **more}]}


def test_each_message_and_each_status_is_an_event() -> None:
    found = events(whatsapp([message(1), message(2, type="image")], [status(1), status(1, "read")]))
    assert [event.event_type for event in found] == [
        "whatsapp_business_account.messages.text",
        "whatsapp_business_account.messages.image",
        "whatsapp_business_account.messages.status.delivered",
        "whatsapp_business_account.messages.status.read",
    ]
    assert {event.account for event in found} == {f"{WABA}:{PHONE_NUMBER_ID}"}
    assert len({event.event_id for event in found}) == 4
    assert {event.event_time for event in found} == {NOON}


def test_a_messages_id_is_its_own_and_a_statuses_has_its_name_and_time() -> None:
    sent, delivered = events(whatsapp([message(1)], [status(1)]))
    assert sent.event_id == message(1)["id"]
    assert delivered.event_id == f"{status(1)['id']}:delivered:1785147300"


def test_a_message_takes_its_own_contact_along_and_nobody_elses() -> None:
    first, second = events(whatsapp([message(1), message(2)]))
    for event, number in ((first, 1), (second, 2)):
        assert event.payload["value"]["contacts"] == [
            {"wa_id": message(number)["from"], "profile": {"name": f"Person {number}"}}
        ]
        assert event.payload["message"] == message(number)
        assert event.payload["value"]["metadata"]["phone_number_id"] == PHONE_NUMBER_ID
        assert json.loads(event.raw) == event.payload
    assert b"Person 2" not in first.raw


def test_a_thousand_updates_take_little_more_room_than_they_came_in() -> None:
    batch = whatsapp([message(number) for number in range(1000)])
    found = events(batch)
    assert len(found) == 1000
    assert sum(len(event.raw) for event in found) < 3 * len(json.dumps(batch))


def test_several_entries_and_changes_are_all_read() -> None:
    one = whatsapp([message(1)])["entry"][0]
    two = whatsapp([message(2)])["entry"][0]
    both = {"object": "whatsapp_business_account", "entry": [{**one, "changes": one["changes"] * 2}, two]}
    assert [event.event_id for event in events(both)] == [message(n)["id"] for n in (1, 1, 2)]


def test_a_change_without_messages_is_one_event_of_its_content() -> None:
    change = {"field": "account_update", "value": {"event": "VERIFIED_ACCOUNT"}}
    (event,) = events(entry(changes=[change]))
    (again,) = events(entry(changes=[change]))
    (other,) = events(entry(changes=[{**change, "value": {"event": "DISABLED"}}]))
    assert event.event_type == "page.account_update"
    assert event.event_id == again.event_id != other.event_id


@pytest.mark.parametrize("value", [None, "x", 7, [], {}, {"messages": []}, {"errors": [{"code": 1}]}])
def test_a_change_of_any_value_is_not_lost(value: Any) -> None:
    (event,) = events(entry(changes=[{"field": "messages", "value": value}]))
    assert event.event_type == "page.messages"
    assert event.payload["value"] == value


def test_what_comes_beside_the_messages_is_an_event_as_well() -> None:
    batch = whatsapp([message(1)])
    batch["entry"][0]["changes"][0]["value"]["errors"] = [{"code": 131000}]
    first, rest = events(batch)
    assert "errors" not in first.payload["value"]
    assert rest.event_type == "whatsapp_business_account.messages"
    assert rest.payload["value"]["errors"] == [{"code": 131000}]
    assert "messages" not in rest.payload["value"]


def test_an_entry_that_names_only_what_changed_is_an_event() -> None:
    (event,) = events(
        {"object": "user", "entry": [{"id": "1", "time": 1785147300, "changed_fields": ["feed"]}]}
    )
    assert (event.event_type, event.account, event.event_time) == ("user.entry", "1", NOON)


def conversation(**more: Any) -> dict[str, Any]:
    return {"sender": {"id": "1"}, "recipient": {"id": "2"}, "timestamp": 1785147300000, **more}


def test_a_message_of_messenger_is_known_by_its_id_and_its_time_is_in_milliseconds() -> None:
    (event,) = events(entry(messaging=[conversation(message={"mid": "m_1", "text": "hi"})]))
    assert (event.event_id, event.event_type, event.account) == ("m_1", "page.messaging.message", "1")
    assert event.event_time == NOON


def test_what_we_sent_ourselves_is_no_message_to_answer() -> None:
    (event,) = events(entry(messaging=[conversation(message={"mid": "m_1", "is_echo": True})]))
    assert event.event_type == "page.messaging.message_echo"


def test_a_message_and_its_deletion_are_two_events() -> None:
    sent, deleted = events(
        entry(
            messaging=[
                conversation(message={"mid": "m_1", "text": "hi"}),
                conversation(message={"mid": "m_1", "is_deleted": True}),
            ]
        )
    )
    assert (sent.event_type, deleted.event_type) == (
        "page.messaging.message",
        "page.messaging.message_deleted",
    )
    assert sent.event_id != deleted.event_id


@pytest.mark.parametrize("kind", ["postback", "delivery", "read", "reaction", "message_edit"])
def test_other_parts_of_a_conversation_are_known_by_their_content(kind: str) -> None:
    (event,) = events(entry(messaging=[conversation(**{kind: {"mid": "m_1"}})]))
    (again,) = events(entry(messaging=[conversation(**{kind: {"mid": "m_1"}})]))
    assert event.event_type == f"page.messaging.{kind}"
    assert event.event_id == again.event_id != "m_1"


def test_conversations_handed_to_another_app_are_events_too() -> None:
    (event,) = events(entry(standby=[conversation(message={"mid": "m_1"})]))
    assert event.event_type == "page.standby.message"


def test_an_unknown_part_of_a_conversation_is_not_lost() -> None:
    (event,) = events(entry(messaging=[conversation(brand_new={})]))
    assert event.event_type == "page.messaging.other"


@pytest.mark.case(88)
@pytest.mark.parametrize(
    "payload",
    [
        {"object": "page"},
        {"object": "page", "entry": []},
        {"object": "page", "entry": [{"id": "1", "changes": []}]},
        {"object": "page", "entry": [{"id": "1", "messaging": []}]},
    ],
)
def test_an_empty_batch_holds_no_event(payload: Any) -> None:
    assert events(payload) == []


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"object": 7},
        {"object": "page", "entry": {}},
        {"object": "page", "entry": [1]},
        entry(changes=[{}]),
        entry(changes=[[]]),
        entry(changes="x"),
        entry(messaging={"a": 1}),
        whatsapp([{"type": "text"}]),
        whatsapp([message(1, id=7)]),
        whatsapp([], [{"id": "wamid.1"}]),
        entry(changes=[{"field": "messages", "value": {"messages": "x"}}]),
        entry(changes=[{"field": "messages", "value": {"messages": [1]}}]),
    ],
)
def test_a_batch_of_another_shape_is_malformed(payload: Any) -> None:
    with pytest.raises(MalformedBody):
        events(payload)


@pytest.mark.parametrize("odd", [None, 7, [], {}, "\ud800", True, 10**120])
def test_odd_values_where_nothing_depends_on_them_are_taken_as_they_are(odd: Any) -> None:
    found = events(
        whatsapp([message(1, type=odd, timestamp=odd, **{"from": odd})], [status(1, timestamp=odd)])
    )
    found += events(
        {"object": "page", "entry": [{"id": odd, "time": odd, "changes": [{"field": "f", "value": odd}]}]}
    )
    found += events(entry(messaging=[conversation(timestamp=odd, message={"mid": odd}), {"message": odd}]))
    assert len(found) == 5
    for event in found:
        assert (event.event_id + event.event_type + event.account).encode()
        assert json.loads(event.raw)
