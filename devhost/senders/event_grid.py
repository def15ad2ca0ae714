"""Event Grid: https://learn.microsoft.com/azure/event-grid/delivery-and-retry

It signs nothing: it shows a secret, or a token of Entra ID.
"""

import json
from datetime import datetime
from urllib.parse import urlencode

from devhost.senders import JSON, Sent

VALIDATION = "Microsoft.EventGrid.SubscriptionValidationEvent"


def signed(
    body: bytes,
    secret: str,
    *,
    now: datetime,  # noqa: ARG001  nothing is signed
    header: str | None = "x-afterhook-secret",
    query: str | None = None,
    content_type: str | None = None,
) -> Sent:
    """The media type follows from the body: one CloudEvent, a list of them, or Event Grid's own schema.

    `secret` goes into the field `query`, or into `header`; into `authorization` it goes as a bearer token.
    """
    proof, text = shown(secret, header=header, query=query)
    kind, handshake = _kind(body)
    headers = {
        "content-type": content_type or kind,
        "aeg-event-type": "SubscriptionValidation" if handshake else "Notification",
        "aeg-delivery-count": "0",
        **proof,
    }
    return headers, text, body


def shown(secret: str, *, header: str | None, query: str | None) -> tuple[dict[str, str], str]:
    """The headers and the query that show the secret."""
    if query is not None:
        return {}, urlencode({query: secret})
    if header is None:
        return {}, ""
    return {header: f"Bearer {secret}" if header == "authorization" else secret}, ""


def _kind(body: bytes) -> tuple[str, bool]:
    """The media type, and whether this is Event Grid's handshake."""
    try:
        document = json.loads(body)
    except ValueError:
        return JSON, False
    if isinstance(document, dict):
        return "application/cloudevents+json; charset=utf-8", False
    items = [item for item in document if isinstance(item, dict)] if isinstance(document, list) else []
    if any("specversion" in item for item in items):
        return "application/cloudevents-batch+json; charset=utf-8", False
    return f"{JSON}; charset=utf-8", any(item.get("eventType") == VALIDATION for item in items)
