"""Slack's requests for its tests, and what its scheme makes of them."""

import json
from dataclasses import replace
from typing import Any

from devhost.senders.slack import signed
from shared.webhooks.base import Reply, WebhookEvent, WebhookRequest
from shared.webhooks.rejections import BadSignature
from shared.webhooks.slack import Slack
from tests.unit.shared.webhooks.requests import NOW, delivered, trust

SCHEME = Slack()
SECRET = "an invented secret of the tests"
KEY = SECRET.encode()
TIME = str(int(NOW.timestamp()))
EVENT: dict[str, Any] = {
    "type": "event_callback",
    "team_id": "T1",
    "api_app_id": "A1",
    "event_id": "Ev1",
    "event_time": 1785147295,
    "event": {"type": "message", "subtype": "channel_join", "channel": "C1"},
}


def sent(document: Any, content_type: str | None = None) -> WebhookRequest:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return delivered(signed(body, SECRET, now=NOW, content_type=content_type))


def read(incoming: WebhookRequest) -> WebhookEvent:
    found = SCHEME.read(incoming, trust())
    assert not isinstance(found, Reply)
    (event,) = found
    return event


def refused(incoming: WebhookRequest) -> bool:
    try:
        SCHEME.verify(incoming, trust(KEY))
    except BadSignature:
        return True
    return False


def with_headers(**changed: str) -> WebhookRequest:
    incoming = sent(EVENT)
    headers = {name.replace("_", "-"): value for name, value in changed.items()}
    return replace(incoming, headers={**incoming.headers, **headers})
