"""Standard Webhooks, version v1 (HMAC-SHA256), with `webhook-*` or Svix's `svix-*` headers.

Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

from shared.printable import clean_text
from shared.webhooks.base import (
    Options,
    Scheme,
    Trust,
    UnusableSecret,
    Verified,
    WebhookEvent,
    WebhookRequest,
)
from shared.webhooks.freshness import check_freshness
from shared.webhooks.identity import event_label
from shared.webhooks.parsing import JSON, media_type, parse_object, require_identity_encoding
from shared.webhooks.rejections import BadSignature, MalformedBody, UnsupportedMediaType
from shared.webhooks.signatures import hmac_sha256, matching_key

KEY_SIZES = range(24, 65)
_TIMESTAMP = re.compile(r"[0-9]{1,20}", re.ASCII)
_FAMILIES = ("webhook", "svix")


@dataclass(frozen=True, slots=True)
class _Headers:
    message_id: str
    timestamp: str
    signatures: str


class Standard(Scheme[Options]):
    """Signed are id, timestamp and body. The id stays the same over the sender's retries."""

    name: ClassVar[str] = "standard"
    has_timestamp: ClassVar[bool] = True

    def load_key(self, secret: str) -> bytes:
        """The bytes of `whsec_<base64>`; also taken: `v1,whsec_<base64>`, no prefix, no padding."""
        text = secret.removeprefix("v1,").removeprefix("whsec_")
        key = _decoded(text + "=" * (-len(text) % 4))
        if key is None:
            raise UnusableSecret("it is not `whsec_` and standard base64")
        if len(key) not in KEY_SIZES:
            raise UnusableSecret("its key is not 24 to 64 bytes long")
        return key

    def verify(self, request: WebhookRequest, trust: Trust[Options]) -> Verified:
        headers = _signed_headers(request)
        if not _TIMESTAMP.fullmatch(headers.timestamp):
            raise BadSignature("The timestamp header is not a whole number of seconds.")
        signed = (_bytes(headers.message_id), b".", _bytes(headers.timestamp), b".", request.body)
        index = matching_key(
            trust.keys,
            _candidates(headers.signatures),
            lambda key: base64.b64encode(hmac_sha256(key, *signed)),
        )
        if index is None:
            raise BadSignature("No v1 signature matches id, timestamp and body.")
        check_freshness(int(headers.timestamp), trust)
        return Verified(secret_index=index)

    def read(self, request: WebhookRequest, trust: Trust[Options]) -> tuple[WebhookEvent, ...]:  # noqa: ARG002
        require_identity_encoding(request)
        kind = media_type(request)
        if kind != JSON and not (kind.startswith("application/") and kind.endswith("+json")):
            raise UnsupportedMediaType(f"The body is not {JSON}.")
        payload = parse_object(request.body)
        return (
            WebhookEvent(
                event_id=clean_text(_signed_headers(request).message_id),
                event_type=_event_type(payload),
                account="",
                event_time=_event_time(payload),
                payload=payload,
                raw=request.body,
            ),
        )


def _signed_headers(request: WebhookRequest) -> _Headers:
    """One family's three headers; they are never mixed."""
    for family in _FAMILIES:
        found = [request.headers.get(f"{family}-{name}", "") for name in ("id", "timestamp", "signature")]
        if all(found):
            return _Headers(*found)
    raise BadSignature("The headers webhook-id, webhook-timestamp and webhook-signature are not all there.")


def _candidates(header: str) -> Iterator[bytes]:
    """The signatures of version v1; other versions and malformed entries are skipped."""
    for entry in header.split():
        version, _, signature = entry.partition(",")
        if version == "v1":
            yield _bytes(signature)


def _event_type(payload: Mapping[str, Any]) -> str:
    """The body's `type`; some senders (Replicate) have none, which only the route `*` matches."""
    found = payload.get("type", "")
    if not isinstance(found, str):
        raise MalformedBody("`type` in the body is not text.")
    return event_label(found)


def _event_time(payload: Mapping[str, Any]) -> datetime | None:
    found = payload.get("timestamp")
    try:
        time = datetime.fromisoformat(found) if isinstance(found, str) else None
        return time.astimezone(UTC) if time and time.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decoded(text: str) -> bytes | None:
    """Canonical standard base64, or None: the lax decoder drops foreign characters silently."""
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return decoded if base64.b64encode(decoded).decode() == text else None
