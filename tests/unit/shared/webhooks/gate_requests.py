"""Requests to a gate, with tokens of a local issuer, and gates for the example sources."""

import json
from typing import Any

from devhost.senders import azure_monitor
from shared.pipeline import SourcePolicy
from shared.webhooks.base import WebhookRequest
from shared.webhooks.gate import Gate
from shared.webhooks.key_directory import KeyDirectory
from shared.webhooks.secrets import SourceSecrets
from tests.support.fakes import World
from tests.support.fakes.key_sets import FakeKeySets
from tests.support.issuer import entra_claims, token
from tests.unit.shared.webhooks.requests import NOW
from tests.unit.shared.webhooks.sources import TENANT, Example

ADDRESS = f"https://login.microsoftonline.com/{TENANT}/discovery/v2.0/keys"
ALERT = json.dumps(
    {
        "schemaId": "azureMonitorCommonAlertSchema",
        "data": {"essentials": {"alertId": "/alerts/1", "monitorCondition": "Fired"}},
    }
).encode()
SUBSCRIBER = "Subscriber"
GRID = json.dumps([{"id": "event-1", "eventType": "a.b", "topic": "t", "data": {}}]).encode()


def claims(**changes: Any) -> dict[str, Any]:
    app_id = "461e8683-5575-4561-ac7f-899cc907d62a"
    found = entra_claims(
        tenant=TENANT, audience="api://afterhook", app_id=app_id, role="ActionGroupsSecureWebhook", now=NOW
    )
    return {**found, "roles": ["ActionGroupsSecureWebhook", SUBSCRIBER], **changes}


def alert_request(authorization: str | None = None, key: str = "first", **changes: Any) -> WebhookRequest:
    """An alert with a good token, unless another header is given; empty leaves it out."""
    headers, query, body = azure_monitor.signed(ALERT, "", now=NOW, header=None)
    shown = f"Bearer {token(claims(**changes), key)}" if authorization is None else authorization
    if shown:
        headers["authorization"] = shown
    return sent(headers, body, query)


def sent(headers: dict[str, str], body: bytes, query: str = "", method: str = "POST") -> WebhookRequest:
    return WebhookRequest(
        method=method,
        headers={"content-length": str(len(body)), **headers},
        query=query,
        url=f"https://hooks.example.com/api/webhooks/source?{query}",
        body=body,
    )


def gate(world: World, example: Example, directory: KeyDirectory | None = None) -> tuple[Gate, SourcePolicy]:
    secrets = SourceSecrets(example.settings)
    return Gate(secrets, directory or FakeKeySets(), world.clock, world.telemetry), example.policy()
