"""Meta: https://developers.facebook.com/docs/graph-api/webhooks/getting-started/"""

import hashlib
import hmac
from datetime import datetime
from urllib.parse import urlencode

from devhost.senders import JSON, Sent


def signed(body: bytes, secret: str, *, now: datetime) -> Sent:  # noqa: ARG001  Meta signs no time
    return {"content-type": JSON, "x-hub-signature-256": signature(body, secret)}, "", body


def signature(body: bytes, secret: str) -> str:
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


def handshake(verify_token: str, challenge: str = "1158201444") -> str:
    """The query of the GET that asks whether the address is really ours."""
    fields = {"hub.mode": "subscribe", "hub.challenge": challenge, "hub.verify_token": verify_token}
    return urlencode(fields)
