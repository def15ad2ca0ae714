"""What Twilio's forms and JSON bodies tell: type and id of each event, and whose it is."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shared.webhooks.base import WebhookEvent, WebhookRequest
from shared.webhooks.identity import body_id, event_label
from shared.webhooks.parsing import FORM, form_fields, media_type, own_json, parse_json, require_json, text_of
from shared.webhooks.rejections import BadSignature, MalformedBody
from shared.webhooks.times import iso_time

_WORD = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_KINDS = (
    ("recording", "RecordingSid", ("RecordingStatus",)),
    ("message", "MessageSid", ("MessageStatus", "SmsStatus")),
    ("message", "SmsSid", ("MessageStatus", "SmsStatus")),
    ("call", "CallSid", ("CallStatus",)),
)


def read_events(request: WebhookRequest, accounts: Sequence[str]) -> tuple[WebhookEvent, ...]:
    """The events of a verified request. Raises BadSignature for an account that is not ours."""
    if media_type(request) == FORM:
        return (_form_event(request, accounts),)
    require_json(request)
    document = parse_json(request.body)
    if isinstance(document, list):
        return tuple(_stream_events(document, accounts))
    if not isinstance(document, dict):
        raise MalformedBody("The body is JSON, but neither an object nor a list.")
    _check_account(document.get("AccountSid"), accounts, required=False)
    kind, event_id = _identity(document, request.body)
    return (_event(kind, event_id, document, request.body),)


def _form_event(request: WebhookRequest, accounts: Sequence[str]) -> WebhookEvent:
    fields: dict[str, Any] = {}
    for name, value in form_fields(request.body):
        if name not in fields:
            fields[name] = value
        else:
            earlier = fields[name]
            fields[name] = [*earlier, value] if isinstance(earlier, list) else [earlier, value]
    _check_account(fields.get("AccountSid"), accounts, required=True)
    kind, event_id = _identity(fields, request.body)
    return _event(kind, event_id, fields, own_json(fields))


def _identity(fields: Mapping[str, Any], body: bytes) -> tuple[str, str]:
    """`message.delivered` and the id of that step: one message or call reports many.

    Of a call only status callbacks are numbered; its other requests differ in their bodies alone.
    """
    for kind, sid_name, status_names in _KINDS:
        sid = fields.get(sid_name)
        if not isinstance(sid, str) or not _WORD.fullmatch(sid):
            continue
        status = next((_word(fields.get(name)) for name in status_names if name in fields), "")
        step = _word(fields.get("SequenceNumber")) if kind == "call" else ""
        event_id = f"{sid}:{status}:{step}" if kind != "call" or step else f"{sid}:{status}:{body_id(body)}"
        return f"{kind}.{status}" if status else kind, event_id
    return "other", body_id(body)


def _word(value: object) -> str:
    return value if isinstance(value, str) and _WORD.fullmatch(value) else ""


def _stream_events(items: Sequence[Any], accounts: Sequence[str]) -> Iterator[WebhookEvent]:
    """Event Streams: a list of CloudEvents."""
    for item in items:
        if not isinstance(item, dict):
            raise MalformedBody("The body is a list, but not of objects.")
        data = item.get("data")
        _check_account(data.get("accountSid") if isinstance(data, dict) else None, accounts, required=False)
        event = _event(text_of(item, "type"), text_of(item, "id"), item, own_json(item))
        yield event


def _event(kind: str, event_id: str, payload: Mapping[str, Any], raw: bytes) -> WebhookEvent:
    return WebhookEvent(
        event_id=event_id,
        event_type=event_label(kind),
        account=_word(payload.get("AccountSid")),
        event_time=iso_time(payload.get("time")),
        payload=payload,
        raw=raw,
    )


def _check_account(sid: object, accounts: Sequence[str], *, required: bool) -> None:
    if sid is None and not required:
        return
    if sid not in accounts:
        raise BadSignature("AccountSid is not one of this source's accounts.")
