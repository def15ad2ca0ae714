"""GitHub: https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries"""

import hashlib
import hmac
import uuid
from datetime import datetime
from urllib.parse import urlencode

from devhost.senders import FORM, JSON, Sent


def signed(
    body: bytes,
    secret: str,
    *,
    now: datetime,  # noqa: ARG001  GitHub signs no time
    event: str = "issues",
    delivery: str | None = None,
    hook_id: str = "292430182",
    form: bool = False,
) -> Sent:
    """The delivery's id follows from the body unless given: sent again, it is a redelivery.

    With `form` the body, which must be UTF-8, goes in the field `payload`.
    """
    sent = urlencode({"payload": body.decode()}).encode() if form else body
    guid = uuid.uuid5(uuid.NAMESPACE_URL, hashlib.sha256(body).hexdigest())
    headers = {
        "content-type": FORM if form else JSON,
        "user-agent": "GitHub-Hookshot/0000000",
        "x-github-delivery": delivery or str(guid),
        "x-github-event": event,
        "x-github-hook-id": hook_id,
        "x-hub-signature-256": signature(sent, secret),
    }
    return headers, "", sent


def signature(body: bytes, secret: str) -> str:
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"
