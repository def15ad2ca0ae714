"""Azure Event Grid: both of its schemas, their handshakes, and batches.

Sources: https://learn.microsoft.com/azure/event-grid/webhook-event-delivery ,
https://learn.microsoft.com/azure/event-grid/end-point-validation-cloud-events-schema and
https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from shared.printable import clean_text
from shared.webhooks.azure_trust import AzureOptions, AzureScheme, verify_azure
from shared.webhooks.base import Options, Reply, Trust, WebhookEvent, WebhookRequest
from shared.webhooks.identity import event_label
from shared.webhooks.parsing import own_json, parse_object, parse_objects, require_json, text_of
from shared.webhooks.times import iso_time

_CLOUD_EVENT = "application/cloudevents+json"
_CLOUD_BATCH = "application/cloudevents-batch+json"
_VALIDATION = "Microsoft.EventGrid.SubscriptionValidationEvent"
Origin = Annotated[str, Field(pattern=r"^[a-z0-9.-]{1,253}$")]


class EventGridOptions(AzureOptions):
    """`allowed_origins` may subscribe with CloudEvents; other clouds than the public one have their own."""

    allowed_origins: Annotated[
        list[Origin], Field(default_factory=lambda: ["eventgrid.azure.net"], max_length=10)
    ]


class EventGrid(AzureScheme[EventGridOptions]):
    name: ClassVar[str] = "event-grid"
    options: ClassVar[type[Options]] = EventGridOptions
    answer_within: ClassVar[float] = 20.0  # Event Grid waits thirty seconds, and may send 5,000 events
    methods: ClassVar[tuple[str, ...]] = ("OPTIONS", "POST")

    def greet(self, request: WebhookRequest, trust: Trust[EventGridOptions]) -> Reply | None:
        """Consent for an origin on our list; the callback address that may come with it is not used."""
        origin = request.headers.get("webhook-request-origin", "").strip().lower()
        if origin not in trust.options.allowed_origins:
            return None
        if trust.options.secret_query is not None:
            verify_azure(request, trust)
        headers = {"WebHook-Allowed-Origin": origin, "WebHook-Allowed-Rate": "*", "Allow": "POST"}
        return Reply(status=200, headers=headers)

    def read(
        self,
        request: WebhookRequest,
        trust: Trust[EventGridOptions],  # noqa: ARG002  all is in the body
    ) -> Reply | tuple[WebhookEvent, ...]:
        kind = require_json(request)
        if kind == _CLOUD_EVENT:
            return (_cloud_event(parse_object(request.body)),)
        items = parse_objects(request.body)
        if kind == _CLOUD_BATCH:
            return tuple(_cloud_event(item) for item in items)
        return _handshake(items) or tuple(
            _cloud_event(item) if "specversion" in item else _grid_event(item) for item in items
        )


def _handshake(items: Sequence[Mapping[str, Any]]) -> Reply | None:
    """The code goes back in the answer; the address that comes with it is never fetched."""
    if len(items) != 1 or items[0].get("eventType") != _VALIDATION:
        return None
    data = items[0].get("data")
    code = text_of(data if isinstance(data, dict) else {}, "validationCode")
    return Reply(status=200, body=json.dumps({"validationResponse": code}).encode())  # 202 is no consent


def _grid_event(item: Mapping[str, Any]) -> WebhookEvent:
    return WebhookEvent(
        event_id=text_of(item, "id"),
        event_type=event_label(text_of(item, "eventType")),
        account=clean_text(topic) if isinstance(topic := item.get("topic"), str) else "",
        event_time=iso_time(item.get("eventTime")),
        payload=item,
        raw=own_json(item),
    )


def _cloud_event(item: Mapping[str, Any]) -> WebhookEvent:
    return WebhookEvent(
        event_id=text_of(item, "id"),
        event_type=event_label(text_of(item, "type")),
        account=text_of(item, "source"),
        event_time=iso_time(item.get("time")),
        payload=item,
        raw=own_json(item),
    )
