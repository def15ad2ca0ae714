"""GitHub webhooks: HMAC-SHA256 of the raw body in `X-Hub-Signature-256`; no timestamp.

Source: https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from shared.printable import clean_text
from shared.webhooks.base import Options, Scheme, Trust, Verified, WebhookEvent, WebhookRequest
from shared.webhooks.forms import field_values
from shared.webhooks.identity import body_id, event_label
from shared.webhooks.parsing import (
    FORM,
    JSON,
    media_type,
    parse_object,
    require_identity_encoding,
)
from shared.webhooks.rejections import MalformedBody, UnsupportedMediaType
from shared.webhooks.signatures import refuse_kinds, text_key, verify_prefixed_hex

_OTHER_KINDS = dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), "an access token")
_EVENT = re.compile(r"[a-z0-9_]{1,64}", re.ASCII)
_DELIVERY = re.compile(r"[0-9A-Za-z-]{1,64}", re.ASCII)
_HOOK = re.compile(r"[0-9]{1,20}", re.ASCII)
_MOST_FORM_FIELDS = 8


class GitHub(Scheme[Options]):
    """The key is the secret's text. An event's id is the delivery's GUID, the same again on redelivery."""

    name: ClassVar[str] = "github"

    def load_key(self, secret: str, options: Options) -> bytes:  # noqa: ARG002  the scheme's interface
        refuse_kinds(secret, _OTHER_KINDS, "the webhook's secret")
        return text_key(secret)

    def verify(self, request: WebhookRequest, trust: Trust[Options]) -> Verified:
        return verify_prefixed_hex(request, "X-Hub-Signature-256", trust.keys)

    def read(self, request: WebhookRequest, trust: Trust[Options]) -> tuple[WebhookEvent, ...]:  # noqa: ARG002
        raw = _json_of(request)
        payload = parse_object(raw)
        return (
            WebhookEvent(
                event_id=_event_id(request),
                event_type=_event_type(request, payload),
                account=_matching(_HOOK, request, "x-github-hook-id"),
                event_time=None,
                payload=payload,
                raw=raw,
            ),
        )


def _event_id(request: WebhookRequest) -> str:
    """The delivery's id; the body's where there is none.

    An id of another form than GitHub's gets a space, so that it is stored as its keyed hash only.
    """
    delivery = request.headers.get("x-github-delivery", "").strip()
    if not delivery:
        return body_id(request.body)
    return delivery if _DELIVERY.fullmatch(delivery) else f"delivery {clean_text(delivery)}"


def _matching(pattern: re.Pattern[str], request: WebhookRequest, header: str) -> str:
    value = request.headers.get(header, "")
    return value if pattern.fullmatch(value) else ""


def _event_type(request: WebhookRequest, payload: Mapping[str, Any]) -> str:
    """`issues.opened`: the event, and the body's action where it has one."""
    event = _matching(_EVENT, request, "x-github-event")
    if not event:
        raise MalformedBody("X-GitHub-Event is missing or not the name of an event.")
    action = payload.get("action")
    if action is None:
        return event
    if not isinstance(action, str):
        raise MalformedBody("`action` in the body is not text.")
    return event_label(f"{event}.{action}")


def _json_of(request: WebhookRequest) -> bytes:
    require_identity_encoding(request)
    kind = media_type(request)
    if kind == JSON:
        return request.body
    if kind == FORM:
        return _form_payload(request.body)
    raise UnsupportedMediaType(f"The body is neither {JSON} nor {FORM}.")


def _form_payload(body: bytes) -> bytes:
    """The JSON in the form field `payload`."""
    found = field_values(body, b"payload", _MOST_FORM_FIELDS)
    if len(found) != 1:
        raise MalformedBody("The form does not have exactly one field `payload`.")
    return found[0]
