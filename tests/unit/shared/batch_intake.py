"""An intake with a source of each scheme that sends batches, and what such senders send."""

import fnmatch
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jmespath

from devhost.senders import event_grid, meta
from shared.http.exchange import HttpRequest
from shared.http.webhooks_api import receive_webhook
from shared.intake import Intake, Receipt
from shared.pipeline import Pipeline, Route
from shared.webhooks.base import Reply, WebhookRequest
from shared.webhooks.secrets import SourceSecrets
from tests.support.application import TASK, build_services, pipeline
from tests.support.fakes import World
from tests.support.fakes.key_sets import FakeKeySets
from tests.unit.shared.webhooks.batches import message, status, whatsapp
from tests.unit.shared.webhooks.requests import NOW
from tests.unit.shared.webhooks.sources import EXAMPLES, TEXT

SETTINGS = {**TEXT, "A_VERIFY_TOKEN": "an invented token of the tests"}
SECRET = TEXT["A_SECRET"]
PUBLIC_URL = "https://hooks.example.com/api/webhooks/twilio"


def route(event: str, user: str | None = None, keep: str | None = None) -> Route:
    return Route(
        event=event,
        pattern=re.compile(fnmatch.translate(event)),
        task=TASK,
        user=jmespath.compile(user) if user else None,
        keep=jmespath.compile(keep) if keep else None,
    )


def policies(*routes: Route) -> Pipeline:
    """A source of each scheme that sends batches, with these routes."""
    found = routes or (route("*"),)
    names = {"meta": "meta", "grid": "event-grid-header", "twilio": "twilio", "alerts": "azure-monitor-token"}
    sources = {
        name: replace(EXAMPLES[example].policy(name, found), max_body=3 * 1024 * 1024)
        for name, example in names.items()
    }
    return replace(pipeline(), sources=sources)


def build(world: World, *routes: Route) -> Intake:
    services = build_services(world, pipeline=policies(*routes))
    return Intake(services, SourceSecrets(SETTINGS), FakeKeySets())


def request(sent: tuple[dict[str, str], str, bytes]) -> WebhookRequest:
    headers, query, body = sent
    return WebhookRequest(
        method="POST",
        headers={"content-length": str(len(body)), **headers},
        query=query,
        url="https://hooks.example.com/api/webhooks/source",
        body=body,
    )


def meta_request(document: Any) -> WebhookRequest:
    return request(meta.signed(json.dumps(document).encode(), SECRET, now=NOW))


def grid_request(document: Any) -> WebhookRequest:
    return request(event_grid.signed(json.dumps(document).encode(), SECRET, now=NOW))


def grid_events(count: int) -> list[dict[str, Any]]:
    return [
        {"id": f"event-{number}", "topic": "t", "eventType": "document.added", "data": {"n": number}}
        for number in range(count)
    ]


def updates(count: int) -> dict[str, Any]:
    """Half of them messages, half statuses."""
    people = range(count // 2)
    return whatsapp([message(n) for n in people], [status(n) for n in people])


async def taken(intake: Intake, request: WebhookRequest) -> list[Receipt]:
    receipts = await intake.receive("meta", request)
    assert not isinstance(receipts, Reply)
    return list(receipts)


async def over_http(
    intake: Intake, source: str, sent: WebhookRequest
) -> tuple[int, Mapping[str, str], bytes]:
    answer = await receive_webhook(
        intake,
        HttpRequest(
            method=sent.method,
            url=f"https://hooks.example.com/api/webhooks/{source}?{sent.query}",
            headers=sent.headers,
            params={"source": source},
            body=sent.body,
        ),
    )
    return answer.status, answer.headers, answer.body
