"""fal.ai: Ed25519 over ids, time and the body's hash, with published keys.

Source: https://docs.fal.ai/model-endpoints/webhooks
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from shared.printable import clean_text
from shared.webhooks import ed25519
from shared.webhooks.base import (
    Jwk,
    Options,
    Scheme,
    Trust,
    UnusableSecret,
    Verified,
    WebhookEvent,
    WebhookRequest,
)
from shared.webhooks.freshness import check_freshness
from shared.webhooks.identity import all_but, event_label
from shared.webhooks.key_address import KeyAddress
from shared.webhooks.parsing import parse_object, require_json, text_of
from shared.webhooks.rejections import BadSignature, UnknownSigningKey

_TIME = re.compile(r"[1-9][0-9]{0,19}", re.ASCII)
_SIGNATURE = re.compile(r"[0-9a-f]{128}", re.ASCII)
_CURVE = "Ed25519"
_SIGNED_HEADERS = ("request-id", "user-id", "timestamp")


class FalOptions(Options):
    """`keys_url` is where fal.ai publishes its keys."""

    keys_url: KeyAddress = "https://rest.fal.ai/.well-known/jwks.json"


class Fal(Scheme[FalOptions]):
    """Nothing is shared with fal.ai: any of its published keys may have signed."""

    name: ClassVar[str] = "fal"
    options: ClassVar[type[Options]] = FalOptions

    def load_key(self, secret: str, options: FalOptions) -> bytes:  # noqa: ARG002  the scheme's interface
        raise UnusableSecret("this scheme has no secrets")

    def wants_secrets(self, options: FalOptions) -> bool:  # noqa: ARG002  never
        return False

    def takes_secrets(self, options: FalOptions) -> bool:  # noqa: ARG002  never
        return False

    def signs_time(self, options: FalOptions) -> bool:  # noqa: ARG002  always
        return True

    def key_set(self, options: FalOptions) -> str | None:
        return options.keys_url

    def verify(self, request: WebhookRequest, trust: Trust[FalOptions]) -> Verified:
        ids = [_header(request, name) for name in _SIGNED_HEADERS]
        given = _header(request, "signature")
        if not all(ids) or not _TIME.fullmatch(ids[2]) or not _SIGNATURE.fullmatch(given):
            raise BadSignature("The headers X-Fal-Webhook-* are not all there, or not of fal.ai's form.")
        parts = [part.encode("utf-8", "surrogatepass") for part in ids]
        message = b"\n".join([*parts, hashlib.sha256(request.body).hexdigest().encode()])
        signature = bytes.fromhex(given)
        if not any(ed25519.is_signed(key, signature, message) for key in _keys(trust.published)):
            raise UnknownSigningKey("X-Fal-Webhook-Signature matches none of fal.ai's published keys.")
        check_freshness(int(ids[2]), trust)
        return Verified(secret_index=None)

    def read(self, request: WebhookRequest, trust: Trust[FalOptions]) -> tuple[WebhookEvent, ...]:  # noqa: ARG002
        require_json(request)
        payload = parse_object(request.body)
        return (
            WebhookEvent(
                event_id=text_of(payload, "request_id"),
                event_type=event_label(f"request.{text_of(payload, 'status').lower()}"),
                account=clean_text(_header(request, "user-id")),
                event_time=None,
                payload=payload,
                raw=request.body,
            ),
        )

    def lasting(self, event: WebhookEvent) -> Iterable[bytes]:
        """`gateway_request_id` names the attempt: it is another one after fal.ai tried again by itself."""
        return all_but(event.payload, "gateway_request_id")


def _header(request: WebhookRequest, name: str) -> str:
    return request.headers.get(f"x-fal-webhook-{name}", "")


def _keys(published: Sequence[Jwk]) -> Iterator[bytes]:
    """The `x` of each Ed25519 key, base64url without padding (RFC 8037)."""
    for jwk in published:
        text = jwk.get("x")
        if not isinstance(text, str) or jwk.get("crv", _CURVE) != _CURVE:
            continue
        try:
            yield base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            continue
