"""fal.ai: https://docs.fal.ai/model-endpoints/webhooks"""

import base64
import hashlib
from datetime import datetime
from typing import TYPE_CHECKING

from devhost.senders import JSON, Sent

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def signed(
    body: bytes,
    secret: str,
    *,
    now: datetime,
    request_id: str | None = None,
    user_id: str = "user_204",
) -> Sent:
    """`secret` is the base64 of an Ed25519 seed (32 bytes); the receiver knows its public key."""
    identity = request_id or hashlib.sha256(body).hexdigest()[:32]
    time = str(int(now.timestamp()))
    headers = {
        "content-type": JSON,
        "x-fal-webhook-request-id": identity,
        "x-fal-webhook-user-id": user_id,
        "x-fal-webhook-timestamp": time,
        "x-fal-webhook-signature": signature(body, secret, identity, user_id, time),
    }
    return headers, "", body


def signature(body: bytes, secret: str, request_id: str, user_id: str, time: str) -> str:
    message = "\n".join([request_id, user_id, time, hashlib.sha256(body).hexdigest()])
    return _key(secret).sign(message.encode()).hex()


def published(secret: str, name: str = "key-1") -> dict[str, str]:
    """The public key as the key set shows it."""
    public = base64.urlsafe_b64encode(_key(secret).public_key().public_bytes_raw()).decode().rstrip("=")
    return {"kty": "OKP", "crv": "Ed25519", "kid": name, "x": public}


def _key(secret: str) -> "Ed25519PrivateKey":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(base64.b64decode(secret, validate=True))
