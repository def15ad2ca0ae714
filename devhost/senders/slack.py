"""Slack: https://docs.slack.dev/authentication/verifying-requests-from-slack/"""

import hashlib
import hmac
from datetime import datetime

from devhost.senders import FORM, JSON, Sent


def signed(body: bytes, secret: str, *, now: datetime, content_type: str | None = None) -> Sent:
    """A body that is no JSON object goes as a form, as slash commands and clicks do."""
    time = str(int(now.timestamp()))
    usual = JSON if body.lstrip().startswith(b"{") else FORM
    headers = {
        "content-type": content_type or usual,
        "x-slack-request-timestamp": time,
        "x-slack-signature": signature(body, secret, time),
    }
    return headers, "", body


def signature(body: bytes, secret: str, time: str) -> str:
    mac = hmac.new(secret.encode(), b"v0:" + time.encode() + b":" + body, hashlib.sha256)
    return f"v0={mac.hexdigest()}"
