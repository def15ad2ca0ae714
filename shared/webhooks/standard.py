"""Standard Webhooks: v1 (HMAC-SHA256) and v1a (Ed25519), with `webhook-*` or Svix's `svix-*` headers.

Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
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
from shared.webhooks.ed25519 import PublicKey, is_signed, is_usable
from shared.webhooks.freshness import check_freshness
from shared.webhooks.identity import event_label
from shared.webhooks.parsing import parse_object, require_json
from shared.webhooks.rejections import BadSignature, MalformedBody
from shared.webhooks.signatures import MOST_CANDIDATES, canonical_base64, hmac_sha256, refuse_kinds
from shared.webhooks.times import iso_time, unix_time

KEY_SIZES = range(24, 65)
_TIMESTAMP = re.compile(r"[0-9]{1,20}", re.ASCII)
_FAMILIES = ("webhook", "svix")
_VERSIONS = frozenset({"v1", "v1a"})
_PUBLIC = "whpk_"
_OTHER_KINDS = {
    "whsk_": "a sender's private key",
    "sk-": "an API key",
    "sk_": "an API key",
    "r8_": "an API token",
}


@dataclass(frozen=True, slots=True)
class _Headers:
    message_id: str
    timestamp: str
    signatures: str


class Standard(Scheme[Options]):
    """Signed are id, timestamp and body. The id stays the same over the sender's retries."""

    name: ClassVar[str] = "standard"

    def load_key(self, secret: str, options: Options) -> bytes:  # noqa: ARG002  the scheme's interface
        """The bytes of `whsec_<base64>`; also taken: `v1,whsec_<base64>`, no prefix, no padding.

        `whpk_<base64>` is the public key of a sender that signs with v1a.
        """
        refuse_kinds(secret, _OTHER_KINDS, "the webhook's signing secret, `whsec_` and base64,")
        if secret.startswith(_PUBLIC):
            return _public_key(secret.removeprefix(_PUBLIC))
        text = secret.removeprefix("v1,").removeprefix("whsec_")
        key = canonical_base64(text + "=" * (-len(text) % 4))
        if key is None:
            raise UnusableSecret("it is not `whsec_` and standard base64")
        if len(key) not in KEY_SIZES:
            raise UnusableSecret("its key is not 24 to 64 bytes long")
        return key

    def signs_time(self, options: Options) -> bool:  # noqa: ARG002  always
        return True

    def verify(self, request: WebhookRequest, trust: Trust[Options]) -> Verified:
        headers = _signed_headers(request)
        if not _TIMESTAMP.fullmatch(headers.timestamp):
            raise BadSignature("The timestamp header is not a whole number of seconds.")
        signed = (_bytes(headers.message_id), b".", _bytes(headers.timestamp), b".", request.body)
        candidates = _candidates(headers.signatures)
        index = next((i for i, key in enumerate(trust.keys) if _is_signed(key, candidates, signed)), None)
        if index is None:
            raise BadSignature(
                "No signature matches id, timestamp and body. Compare the secrets on both sides."
            )
        check_freshness(int(headers.timestamp), trust)
        return Verified(secret_index=index)

    def read(self, request: WebhookRequest, trust: Trust[Options]) -> tuple[WebhookEvent, ...]:  # noqa: ARG002
        require_json(request)
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


def _candidates(header: str) -> list[tuple[str, bytes]]:
    """The signatures by version; other versions and malformed entries are skipped."""
    found = [entry.partition(",") for entry in header.split()]
    return [(version, _bytes(text)) for version, _, text in found if version in _VERSIONS][:MOST_CANDIDATES]


def _is_signed(key: bytes, candidates: Sequence[tuple[str, bytes]], signed: Sequence[bytes]) -> bool:
    """A public key proves v1a and a secret proves v1, never the other way round."""
    if not isinstance(key, PublicKey):
        expected = base64.b64encode(hmac_sha256(key, *signed))
        return any(v == "v1" and hmac.compare_digest(expected, text) for v, text in candidates)
    given = [text.decode("latin-1") for version, text in candidates if version == "v1a"]
    signatures = [found for found in map(canonical_base64, given) if found is not None]
    message = b"".join(signed) if signatures else b""
    return any(is_signed(key, signature, message) for signature in signatures)


def _public_key(text: str) -> PublicKey:
    key = canonical_base64(text)
    if key is None or not is_usable(key):
        raise UnusableSecret("it is not `whpk_` and the base64 of an Ed25519 public key")
    return PublicKey(key)


def _event_type(payload: Mapping[str, Any]) -> str:
    """The body's `type`; Replicate has a `status` instead. Without either only the route `*` matches."""
    status = payload.get("status")
    found = payload.get("type", status if isinstance(status, str) else "")
    if not isinstance(found, str):
        raise MalformedBody("`type` in the body is not text.")
    return event_label(found)


def _event_time(payload: Mapping[str, Any]) -> datetime | None:
    """`timestamp` as the specification advises; OpenAI has `created_at`, Replicate `completed_at`."""
    return (
        iso_time(payload.get("timestamp"))
        or unix_time(payload.get("created_at"))
        or iso_time(payload.get("completed_at"))
    )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
