"""What Meta's batches hold: one event for each message, status or other change.

Sources: https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/overview and
https://developers.facebook.com/docs/messenger-platform/webhooks
"""

from collections.abc import Iterator, Mapping
from typing import Any

from shared.printable import clean_text
from shared.webhooks.base import WebhookEvent
from shared.webhooks.identity import body_id, event_label
from shared.webhooks.parsing import own_json, text_of
from shared.webhooks.rejections import MalformedBody
from shared.webhooks.times import unix_time

_MESSAGING = ("message", "postback", "delivery", "read", "reaction", "message_edit")
_SPLIT = ("messages", "statuses")
_CONTAINERS = ("changes", "messaging", "standby")


def read_events(payload: Mapping[str, Any]) -> Iterator[WebhookEvent]:
    """Every event of the batch, in its order. Raises MalformedBody."""
    kind = text_of(payload, "object")
    for entry in _objects(payload, "entry"):
        for change in _objects(entry, "changes"):
            yield from _change_events(kind, entry, change)
        for channel in ("messaging", "standby"):
            for found in _objects(entry, channel):
                yield _conversation_event(kind, channel, entry, found)
        if not any(name in entry for name in _CONTAINERS):  # only the names of what changed
            item = {"object": kind, "entry": entry}
            yield _event(f"{kind}.entry", _owner(entry), body_id(own_json(item)), entry.get("time"), item)


def _change_events(kind: str, entry: Mapping[str, Any], change: Mapping[str, Any]) -> Iterator[WebhookEvent]:
    field, value = text_of(change, "field"), change.get("value")
    common = {"object": kind, "entry_id": entry.get("id"), "field": field}
    if not isinstance(value, dict) or not any(value.get(name) for name in _SPLIT):
        item = common | {"time": entry.get("time"), "value": value}
        yield _event(f"{kind}.{field}", _owner(entry), body_id(own_json(item)), entry.get("time"), item)
        return
    shared, contacts, others = _parts(value)
    owner = f"{_owner(entry)}:{_phone_number_id(shared)}"
    for message in _objects(value, "messages"):
        own = {"value": shared | _own_contacts(contacts, message, "from"), "message": message}
        label = f"{kind}.{field}.{_name(message.get('type'))}"
        yield _event(label, owner, text_of(message, "id"), message.get("timestamp"), common | own)
    for status in _objects(value, "statuses"):
        own = {"value": shared | _own_contacts(contacts, status, "recipient_id"), "status": status}
        name, at = text_of(status, "status"), status.get("timestamp")
        event_id = f"{text_of(status, 'id')}:{name}:{at if isinstance(at, str | int) else ''}"
        yield _event(f"{kind}.{field}.status.{_name(name)}", owner, event_id, at, common | own)
    if others:
        item = common | {"time": entry.get("time"), "value": shared | others}
        yield _event(f"{kind}.{field}", owner, body_id(own_json(item)), entry.get("time"), item)


_Contacts = Mapping[object, list[Any]]
_Parts = tuple[dict[str, Any], _Contacts, dict[str, Any]]


def _parts(value: Mapping[str, Any]) -> _Parts:
    """What every message and status of a batch shares, the people in it, and its further lists.

    A message goes on without the other people's names and without copies of what else came with it.
    """
    shared = {name: part for name, part in value.items() if not isinstance(part, list)}
    lists = {name: part for name, part in value.items() if isinstance(part, list) and part}
    others = {name: part for name, part in lists.items() if name not in {*_SPLIT, "contacts"}}
    contacts: dict[object, list[Any]] = {}
    for contact in lists.get("contacts", []):
        if isinstance(contact, dict) and isinstance(contact.get("wa_id"), str):
            contacts.setdefault(contact["wa_id"], []).append(contact)
    return shared, contacts, others


def _own_contacts(contacts: _Contacts, item: Mapping[str, Any], name: str) -> dict[str, Any]:
    person = item.get(name)
    own = contacts.get(person) if isinstance(person, str) else None
    return {"contacts": own} if own else {}


def _conversation_event(
    kind: str, channel: str, entry: Mapping[str, Any], found: Mapping[str, Any]
) -> WebhookEvent:
    """Messenger's and Instagram's form: no changes, one object a message. Their times are milliseconds."""
    at = found.get("timestamp")
    item = {"object": kind, "entry_id": entry.get("id"), channel: found}
    label = next((name for name in _MESSAGING if name in found), "other")
    message = found.get("message")
    event_id = ""
    if isinstance(message, dict):
        label = _message_label(message)
        mid = message.get("mid")
        event_id = f"{mid}{':deleted' if message.get('is_deleted') else ''}" if isinstance(mid, str) else ""
    seconds = at / 1000 if isinstance(at, int) else None
    name = f"{kind}.{channel}.{label}"
    return _event(name, _owner(entry), event_id or body_id(own_json(item)), seconds, item)


def _message_label(message: Mapping[str, Any]) -> str:
    """An echo is a message that we sent ourselves: answering it would never end."""
    if message.get("is_echo"):
        return "message_echo"
    return "message_deleted" if message.get("is_deleted") else "message"


def _event(kind: str, account: str, event_id: str, at: object, item: dict[str, Any]) -> WebhookEvent:
    return WebhookEvent(
        event_id=clean_text(event_id),
        event_type=event_label(kind),
        account=clean_text(account),
        event_time=unix_time(at),
        payload=item,
        raw=own_json(item),
    )


def _objects(parent: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The list of objects at `name`; none where there is no such field. Raises MalformedBody."""
    found = parent.get(name, [])
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise MalformedBody(f"`{name}` in the body is not a list of objects.")
    return found


def _name(value: object) -> str:
    return value if isinstance(value, str) and value else "unknown"


def _owner(entry: Mapping[str, Any]) -> str:
    found = entry.get("id")
    return found if isinstance(found, str) else ""


def _phone_number_id(value: Mapping[str, Any]) -> str:
    metadata = value.get("metadata")
    found = metadata.get("phone_number_id") if isinstance(metadata, dict) else None
    return found if isinstance(found, str) else ""
