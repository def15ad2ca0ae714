"""Shopify: https://shopify.dev/docs/apps/build/webhooks/verify-deliveries"""

import base64
import hashlib
import hmac
import uuid
from datetime import datetime

from devhost.senders import JSON, Sent


def signed(
    body: bytes,
    secret: str,
    *,
    now: datetime,
    topic: str = "orders/create",
    shop: str = "example.myshopify.com",
    webhook_id: str | None = None,
    event_id: str | None = None,
) -> Sent:
    """Only the body is signed. The ids follow from the body unless given: the same file is the same event."""
    digest = hashlib.sha256(body).hexdigest()
    headers = {
        "content-type": JSON,
        "x-shopify-api-version": "2026-07",
        "x-shopify-event-id": event_id or str(uuid.uuid5(uuid.NAMESPACE_URL, f"event {digest}")),
        "x-shopify-hmac-sha256": signature(body, secret),
        "x-shopify-shop-domain": shop,
        "x-shopify-topic": topic,
        "x-shopify-triggered-at": now.isoformat().replace("+00:00", "Z"),
        "x-shopify-webhook-id": webhook_id or str(uuid.uuid5(uuid.NAMESPACE_URL, f"webhook {digest}")),
    }
    return headers, "", body


def signature(body: bytes, secret: str) -> str:
    return base64.b64encode(hmac.new(secret.encode(), body, hashlib.sha256).digest()).decode()
