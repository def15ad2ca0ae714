"""Builds requests as the senders build them."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta

from devhost.senders import Sent
from shared.webhooks.base import Options, Trust, WebhookRequest

NOW = datetime(2026, 7, 27, 10, 15, tzinfo=UTC)
FIVE_MINUTES = timedelta(minutes=5)
GITHUB_KEY = b"an invented secret of the tests"
STANDARD_KEY = bytes(range(32))
STANDARD_SECRET = f"whsec_{base64.b64encode(STANDARD_KEY).decode()}"


def trust(*keys: bytes, now: datetime = NOW, tolerance: timedelta = FIVE_MINUTES) -> Trust[Options]:
    """What a scheme without options checks against."""
    return Trust(options=Options(), now=now, tolerance=tolerance, keys=keys)


def request(body: bytes, headers: dict[str, str]) -> WebhookRequest:
    return WebhookRequest(
        method="POST",
        headers=headers,
        query="",
        url="https://example.com/api/webhooks/source",
        body=body,
    )


def delivered(sent: Sent) -> WebhookRequest:
    """What a sender sends, as it arrives."""
    headers, query, body = sent
    url = "https://example.com/api/webhooks/source"
    return WebhookRequest(
        method="POST", headers=headers, query=query, url=f"{url}?{query}" if query else url, body=body
    )


def github_signature(body: bytes, key: bytes = GITHUB_KEY) -> str:
    return f"sha256={hmac.new(key, body, hashlib.sha256).hexdigest()}"


def github_request(body: bytes, key: bytes = GITHUB_KEY, **headers: str) -> WebhookRequest:
    """Extra headers by name, with underscores for hyphens; an empty value leaves the header out."""
    found = {
        "content-type": "application/json",
        "x-github-event": "issues",
        "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
        "x-hub-signature-256": github_signature(body, key),
    }
    found |= {name.replace("_", "-"): value for name, value in headers.items()}
    return request(body, {name: value for name, value in found.items() if value})


def standard_signature(message_id: str, timestamp: str, body: bytes, key: bytes = STANDARD_KEY) -> str:
    signed = f"{message_id}.{timestamp}.".encode() + body
    return f"v1,{base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()}"


def standard_request(
    body: bytes,
    *,
    message_id: str = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W",
    at: datetime = NOW,
    timestamp: str | None = None,
    signature: str | None = None,
    family: str = "webhook",
    key: bytes = STANDARD_KEY,
    content_type: str = "application/json",
) -> WebhookRequest:
    stamp = str(int(at.timestamp())) if timestamp is None else timestamp
    given = standard_signature(message_id, stamp, body, key) if signature is None else signature
    return request(
        body,
        {
            "content-type": content_type,
            f"{family}-id": message_id,
            f"{family}-timestamp": stamp,
            f"{family}-signature": given,
        },
    )
