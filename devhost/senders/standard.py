"""Standard Webhooks: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md"""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime

from devhost.senders import JSON, Sent

PRIVATE = "whsk_"


def signed(
    body: bytes,
    secret: str,
    *,
    now: datetime,
    message_id: str | None = None,
    family: str = "webhook",
    rolled: Sequence[str] = (),
) -> Sent:
    """`secret` is `whsec_...` for v1, or the private key `whsk_...` for v1a; `rolled` are old secrets.

    The message's id follows from the body unless given. Svix's headers are of the family `svix`.
    """
    identity = message_id or f"msg_{hashlib.sha256(body).hexdigest()[:27]}"
    time = str(int(now.timestamp()))
    headers = {
        "content-type": JSON,
        f"{family}-id": identity,
        f"{family}-timestamp": time,
        f"{family}-signature": " ".join(signature(body, key, identity, time) for key in (secret, *rolled)),
    }
    return headers, "", body


def signature(body: bytes, secret: str, message_id: str, time: str) -> str:
    message = f"{message_id}.{time}.".encode() + body
    if secret.startswith(PRIVATE):
        return f"v1a,{_base64(_ed25519(secret, message))}"
    key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    return f"v1,{_base64(hmac.new(key, message, hashlib.sha256).digest())}"


def _ed25519(secret: str, message: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    seed = base64.b64decode(secret.removeprefix(PRIVATE), validate=True)[:32]
    return Ed25519PrivateKey.from_private_bytes(seed).sign(message)


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
