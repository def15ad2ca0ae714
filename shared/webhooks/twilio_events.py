"""What Twilio's forms and JSON bodies tell: type and id of each event, and whose it is."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from shared.webhooks.base import WebhookEvent, WebhookRequest
from shared.webhooks.identity import body_id, event_label
from shared.webhooks.parsing import (
    FORM,
    check_batch,
    form_fields,
    media_type,
    own_json,
    parse_json,
    require_json,
    text_of,
)
from shared.webhooks.rejections import BadSignature, MalformedBody
from shared.webhooks.times import iso_time

_WORD = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_KINDS = (
    ("transcription", "TranscriptionSid", ("TranscriptionStatus", "TranscriptionEvent")),
    ("recording", "RecordingSid", ("RecordingStatus",)),
    ("message", "MessageSid", ("MessageStatus", "SmsStatus")),
    ("message", "SmsSid", ("MessageStatus", "SmsStatus")),
    ("call", "CallSid", ("CallStatus",)),
)
_ACCOUNT_NAMES = ("AccountSid", "account_sid", "accountSid")
_ONCE = frozenset({"recording", "message"})
"""What passes through each of its statuses once. A call asks for instructions many times in one status."""


def read_events(request: WebhookRequest, accounts: Sequence[str]) -> tuple[WebhookEvent, ...]:
    """The events of a verified request. Raises BadSignature for an account that is not ours."""
    if media_type(request) == FORM:
        return (_form_event(request, accounts),)
    require_json(request)
    document = parse_json(request.body)
    if isinstance(document, list):
        check_batch(request.body)
        return tuple(_stream_events(document, accounts))
    if not isinstance(document, dict):
        raise MalformedBody("The body is JSON, but neither an object nor a list.")
    account = _account(document, accounts, required=False)
    return (_event(document, account, request.body, request.body),)


def signed_text(form: bytes) -> bytes:
    """What follows the URL in what Twilio signs: each name in order, with each of its distinct values.

    Raises MalformedBody.
    """
    return "".join(name + value for name, value in sorted(set(form_fields(form)))).encode()


def _form_event(request: WebhookRequest, accounts: Sequence[str]) -> WebhookEvent:
    """What the signature covers is the event: who repeats or reorders captured fields makes no other one.

    Of a name that comes several times the distinct values are kept, in the order sent.
    """
    found: dict[str, dict[str, None]] = {}
    for name, value in form_fields(request.body):
        found.setdefault(name, {})[value] = None
    fields = {name: next(iter(values)) if len(values) == 1 else [*values] for name, values in found.items()}
    account = _account(fields, accounts, required=True)
    return _event(fields, account, signed_text(request.body), own_json(fields))


def _event(fields: Mapping[str, Any], account: str, body: bytes, raw: bytes) -> WebhookEvent:
    kind, event_id = _identity(fields, body)
    return WebhookEvent(
        event_id=event_id,
        event_type=event_label(kind),
        account=account,
        event_time=_mail_time(fields.get("Timestamp")),
        payload=fields,
        raw=raw,
    )


def _identity(fields: Mapping[str, Any], body: bytes) -> tuple[str, str]:
    """`message.delivered` and the id of that step: one message or call reports many.

    Where nothing in the fields numbers the step, the body is its identity: Twilio repeats a request as it
    was.
    """
    for kind, sid_name, status_names in _KINDS:
        sid = _word(fields.get(sid_name))
        if not sid:
            continue
        status = next((_word(fields.get(name)) for name in status_names if name in fields), "")
        number = _word(fields.get("SequenceNumber")) if kind == "call" else ""
        step = number or (status if kind in _ONCE else "") or body_id(body)
        label = f"{kind}.{status}" if status else _named(fields, kind)
        return label, ":".join(part for part in (sid, status if step != status else "", step) if part)
    return _named(fields, "other"), body_id(body)


def _named(fields: Mapping[str, Any], otherwise: str) -> str:
    """Conversations, among others, name the event instead of a status: `event.onMessageAdded`."""
    name = _word(fields.get("EventType"))
    return f"event.{name}" if name else otherwise


def _word(value: object) -> str:
    return value if isinstance(value, str) and _WORD.fullmatch(value) else ""


def _stream_events(items: Sequence[Any], accounts: Sequence[str]) -> Iterator[WebhookEvent]:
    """Event Streams: a list of CloudEvents."""
    for item in items:
        if not isinstance(item, dict):
            raise MalformedBody("The body is a list, but not of objects.")
        data = item.get("data")
        yield WebhookEvent(
            event_id=text_of(item, "id"),
            event_type=event_label(text_of(item, "type")),
            account=_account(data if isinstance(data, dict) else {}, accounts, required=False),
            event_time=iso_time(item.get("time")),
            payload=item,
            raw=own_json(item),
        )


def _mail_time(value: object) -> datetime | None:
    """The time of a call's status, in the form of e-mail: `Fri, 27 Nov 2026 10:15:00 +0000`."""
    from email.utils import parsedate_to_datetime

    try:
        time = parsedate_to_datetime(value) if isinstance(value, str) else None
        return time.astimezone(UTC) if time and time.tzinfo else None
    except (ValueError, OverflowError, IndexError, TypeError):
        return None


def _account(fields: Mapping[str, Any], accounts: Sequence[str], *, required: bool) -> str:
    """Every spelling that is there must name one of `accounts`. Raises BadSignature."""
    sids = [fields[name] for name in _ACCOUNT_NAMES if name in fields]
    if not all(isinstance(sid, str) and sid in accounts for sid in sids) or (required and not sids):
        raise BadSignature("AccountSid is not one of this source's accounts.")
    return str(sids[0]) if sids else ""
