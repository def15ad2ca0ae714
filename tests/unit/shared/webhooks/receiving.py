"""The whole receiver over the fakes, with a source of each kind, and a good delivery of each."""

import fnmatch
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import jmespath
import pytest

from devhost.senders import (
    Sent,
    azure_monitor,
    event_grid,
    fal,
    generic_hmac,
    github,
    meta,
    shopify,
    slack,
    standard,
    stripe,
    twilio,
)
from shared.application import Application
from shared.http.exchange import HttpAnswer, HttpRequest, answered
from shared.intake import Intake
from shared.pipeline import Route
from shared.services import Services
from shared.webhooks.secrets import SourceSecrets
from tests.support.application import TASK, build_services, pipeline
from tests.support.fakes import World
from tests.support.fakes.key_sets import FakeKeySets
from tests.unit.shared.webhooks.sources import ACCOUNT_SID, EXAMPLES

URL = "https://hooks.example.com/api/webhooks"
SEED = "6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbc="
PRIVATE = f"whsk_{SEED}"
"""Of the public key in `sources`: https://github.com/svix/svix-webhooks (its example for v1a)."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A good body, and how its sender sends it; `options` are the sender's."""

    document: Any
    sign: Callable[..., Sent]
    options: Mapping[str, Any] = field(default_factory=dict)
    secret: str | None = None

    @property
    def body(self) -> bytes:
        return self.document if isinstance(self.document, bytes) else json.dumps(self.document).encode()


GRID = [
    {
        "id": "1",
        "topic": "/t",
        "subject": "s",
        "eventType": "A.B",
        "eventTime": "2026-07-27T10:14:00Z",
        "data": {},
    }
]
ALERT = {
    "schemaId": "azureMonitorCommonAlertSchema",
    "data": {
        "essentials": {
            "alertId": "/subscriptions/0/alerts/1",
            "alertRule": "rule",
            "severity": "Sev1",
            "signalType": "Metric",
            "monitorCondition": "Fired",
            "firedDateTime": "2026-07-27T10:14:00Z",
        }
    },
}
SMS = f"AccountSid={ACCOUNT_SID}&MessageSid=SM{'0' * 32}&MessageStatus=delivered&From=%2B15550100".encode()
STRIPE = {"id": "evt_1", "object": "event", "type": "invoice.paid", "livemode": False, "created": 1785147295}
SLACK = {
    "type": "event_callback",
    "team_id": "T1",
    "api_app_id": "A1",
    "event_id": "Ev1",
    "event": {"type": "app_mention"},
}
WHATSAPP = {
    "object": "whatsapp_business_account",
    "entry": [
        {
            "id": "1",
            "changes": [
                {
                    "field": "messages",
                    "value": {
                        "metadata": {"phone_number_id": "2"},
                        "messages": [{"id": "wamid.A", "from": "15550100", "type": "text"}],
                    },
                }
            ],
        }
    ],
}
FAL = {"request_id": "req-1", "status": "OK", "payload": {}}
EVERYTHING = EXAMPLES["hmac-everything"].table
READ = ("id", "type", "account", "time")  # says how an event is read, not how it is signed
DELIVERIES: Mapping[str, Delivery] = {
    "azure-monitor-header": Delivery(ALERT, azure_monitor.signed),
    "azure-monitor-query": Delivery(ALERT, azure_monitor.signed, {"query": "code"}),
    "event-grid-header": Delivery(GRID, event_grid.signed),
    "event-grid-query": Delivery(GRID, event_grid.signed, {"query": "code"}),
    "fal": Delivery(FAL, fal.signed, secret=SEED),
    "github": Delivery({"action": "opened"}, github.signed),
    "hmac": Delivery({"event": "a"}, generic_hmac.signed, {"header": "X-Signature"}),
    "hmac-everything": Delivery(
        {"event": "a", "owner": {"id": 1}},
        generic_hmac.signed,
        {name: value for name, value in EVERYTHING.items() if name not in READ},
    ),
    "meta": Delivery(WHATSAPP, meta.signed),
    "shopify": Delivery({"id": 1}, shopify.signed),
    "slack": Delivery(SLACK, slack.signed),
    "standard": Delivery({"type": "a", "data": {}}, standard.signed),
    "standard-public": Delivery({"type": "a", "data": {}}, standard.signed, secret=PRIVATE),
    "stripe": Delivery(STRIPE, stripe.signed),
    "twilio": Delivery(SMS, twilio.signed),
    "twilio-shared-key": Delivery(
        SMS,
        twilio.signed,
        {"shared_key": "key-1"},
        secret=EXAMPLES["twilio-shared-key"].settings["A_SHARED_KEY"],
    ),
}
OWN_FORM = {"twilio", "twilio-shared-key"}
"""Examples whose sender gets an answer in its own form."""

ALWAYS_200 = {"meta", *OWN_FORM}
"""Examples whose sender is answered 200 for a new event, too."""
EVERY = pytest.mark.parametrize("source", DELIVERIES)
TIMED = ("fal", "hmac-everything", "slack", "standard", "stripe")
"""Examples whose signature covers a time."""


def code(answer: HttpAnswer) -> str:
    """The code of a problem."""
    return str(json.loads(answer.body)["code"])


class Receiver:
    """An app whose sources are named like the examples. All instances of one `world` share its storage."""

    def __init__(
        self,
        world: World | None = None,
        *,
        event: str = "*",
        user: str | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """`event` and `user` are each route's; `settings` take the place of each source's own."""
        self.world = world or World()
        route = Route(
            event=event,
            pattern=re.compile(fnmatch.translate(event)),
            task=TASK,
            user=jmespath.compile(user) if user else None,
        )
        sources = {name: found.policy(name, (route,)) for name, found in EXAMPLES.items()}
        self.services: Services = build_services(self.world, pipeline=replace(pipeline(), sources=sources))
        self.directory = FakeKeySets()
        for found in EXAMPLES.values():
            address = found.implementation.key_set(found.options)
            if address is not None:
                self.directory.published[address] = found.published
        self._applications = {
            name: self._application(found.settings if settings is None else settings)
            for name, found in EXAMPLES.items()
        }

    def _application(self, settings: Mapping[str, str]) -> Application:
        return Application(self.services, Intake(self.services, SourceSecrets(settings), self.directory))

    def sent(self, source: str, body: bytes | None = None, **options: Any) -> HttpRequest:
        """The source's good delivery (or another body), signed now."""
        delivery = DELIVERIES[source]
        secret = delivery.secret or next(iter(EXAMPLES[source].settings.values()))
        headers, query, content = delivery.sign(
            delivery.body if body is None else body,
            secret,
            now=self.now,
            **{**delivery.options, **options},
        )
        url = f"{URL}/{source}"
        return HttpRequest(
            method="POST",
            url=f"{url}?{query}" if query else url,
            headers={**headers, "content-length": str(len(content))},
            params={"source": source},
            body=content,
        )

    @property
    def now(self) -> datetime:
        return self.world.clock.now()

    async def receive(self, request: HttpRequest) -> HttpAnswer:
        application = self._applications[request.params["source"]]
        return await answered(lambda: application.receive_webhook(request))

    async def deliver(self, source: str, body: bytes | None = None, **options: Any) -> HttpAnswer:
        return await self.receive(self.sent(source, body, **options))
