"""Meta (WhatsApp Cloud API, Messenger, Instagram): GitHub's form of signature, a handshake by GET, batches.

Sources: https://developers.facebook.com/docs/graph-api/webhooks/getting-started/ and
https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/overview
"""

import hmac
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar
from urllib.parse import parse_qs

from shared.pipeline.values import SettingName
from shared.webhooks.base import Options, Reply, Scheme, Trust, Verified, WebhookEvent, WebhookRequest
from shared.webhooks.identity import body_id, event_label
from shared.webhooks.parsing import own_json, parse_object, require_json, text_of
from shared.webhooks.rejections import BadSignature, MalformedBody
from shared.webhooks.signatures import text_key, verify_prefixed_hex
from shared.webhooks.times import unix_time

_MESSAGING = ("message", "postback", "delivery", "read", "reaction")
_CHALLENGE = re.compile(r"[\x21-\x7e]{1,256}", re.ASCII)
_VERIFY = "verify_token"


class MetaOptions(Options):
    """`verify_token` names the setting with the text that the handshake must show."""

    verify_token: SettingName

    def named_secrets(self) -> Mapping[str, str]:
        return {_VERIFY: self.verify_token}


class Meta(Scheme[MetaOptions]):
    """The key is the text of the app secret."""

    name: ClassVar[str] = "meta"
    options: ClassVar[type[Options]] = MetaOptions
    methods: ClassVar[tuple[str, ...]] = ("GET", "POST")

    def load_key(self, secret: str, options: MetaOptions) -> bytes:  # noqa: ARG002  the scheme's interface
        return text_key(secret)

    def greet(self, request: WebhookRequest, trust: Trust[MetaOptions]) -> Reply | None:
        """The challenge of a subscription, given back to who knows the verify token."""
        try:
            query = parse_qs(request.query, keep_blank_values=True, max_num_fields=20)
        except ValueError:
            return None
        if query.get("hub.mode") != ["subscribe"]:
            return None
        tokens, challenges = query.get("hub.verify_token", []), query.get("hub.challenge", [])
        token = trust.named.get(_VERIFY)
        given = tokens[0].encode("utf-8", "surrogatepass") if len(tokens) == 1 else b""
        if token is None or not hmac.compare_digest(token, given):
            raise BadSignature("hub.verify_token is not this source's verify token.")
        if len(challenges) != 1 or not _CHALLENGE.fullmatch(challenges[0]):
            raise MalformedBody("hub.challenge is missing or not a short text.")
        return Reply(status=200, body=challenges[0].encode(), content_type="text/plain; charset=utf-8")

    def verify(self, request: WebhookRequest, trust: Trust[MetaOptions]) -> Verified:
        return verify_prefixed_hex(request, "X-Hub-Signature-256", trust.keys)

    def read(self, request: WebhookRequest, trust: Trust[MetaOptions]) -> tuple[WebhookEvent, ...]:  # noqa: ARG002
        """One event for each message, status or other change."""
        require_json(request)
        payload = parse_object(request.body)
        kind = text_of(payload, "object")
        return tuple(
            event
            for entry in _objects(payload, "entry")
            for event in (*_changes(kind, entry), *_messaging(kind, entry))
        )


def _changes(kind: str, entry: Mapping[str, Any]) -> Iterator[WebhookEvent]:
    for change in _objects(entry, "changes"):
        field = text_of(change, "field")
        value = change.get("value")
        common = {"object": kind, "entry_id": entry.get("id"), "field": field}
        if not isinstance(value, dict) or not ({"messages", "statuses"} & value.keys()):
            item = common | {"time": entry.get("time"), "value": value}
            yield _event(f"{kind}.{field}", _owner(entry), body_id(own_json(item)), entry.get("time"), item)
            continue
        rest = {name: part for name, part in value.items() if name not in {"messages", "statuses"}}
        owner = f"{_owner(entry)}:{_phone_number_id(value)}"
        for message in _objects(value, "messages"):
            label = f"{kind}.{field}.{message.get('type', 'unknown')}"
            item = common | {"value": rest, "message": message}
            yield _event(label, owner, text_of(message, "id"), message.get("timestamp"), item)
        for status in _objects(value, "statuses"):
            name, at = text_of(status, "status"), status.get("timestamp")
            item = common | {"value": rest, "status": status}
            event_id = f"{text_of(status, 'id')}:{name}:{at}"
            yield _event(f"{kind}.{field}.status.{name}", owner, event_id, at, item)


def _messaging(kind: str, entry: Mapping[str, Any]) -> Iterator[WebhookEvent]:
    """Messenger's and Instagram's form: no changes, one object a message. Their times are milliseconds."""
    for found in _objects(entry, "messaging"):
        message, at = found.get("message"), found.get("timestamp")
        item = {"object": kind, "entry_id": entry.get("id"), "messaging": found}
        mid = message.get("mid") if isinstance(message, dict) else None
        event_id = mid if isinstance(mid, str) and mid else body_id(own_json(item))
        seconds = at / 1000 if isinstance(at, int) else None
        label = next((name for name in _MESSAGING if name in found), "other")
        yield _event(f"{kind}.messaging.{label}", _owner(entry), event_id, seconds, item)


def _event(kind: str, account: str, event_id: str, at: object, item: dict[str, Any]) -> WebhookEvent:
    return WebhookEvent(
        event_id=event_id,
        event_type=event_label(kind),
        account=account,
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


def _owner(entry: Mapping[str, Any]) -> str:
    found = entry.get("id")
    return found if isinstance(found, str) else ""


def _phone_number_id(value: Mapping[str, Any]) -> str:
    metadata = value.get("metadata")
    found = metadata.get("phone_number_id") if isinstance(metadata, dict) else None
    return found if isinstance(found, str) else ""
