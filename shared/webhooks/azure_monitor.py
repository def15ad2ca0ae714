"""Azure Monitor action groups, with the common alert schema.

Sources: https://learn.microsoft.com/azure/azure-monitor/alerts/action-groups and
https://learn.microsoft.com/azure/azure-monitor/alerts/alerts-common-schema
"""

from typing import ClassVar

from shared.webhooks.azure_trust import AzureOptions, AzureScheme
from shared.webhooks.base import Options, Trust, WebhookEvent, WebhookRequest
from shared.webhooks.identity import event_label
from shared.webhooks.parsing import parse_object, require_json, text_of
from shared.webhooks.rejections import MalformedBody
from shared.webhooks.times import iso_time

_SCHEMA = "azureMonitorCommonAlertSchema"


class AzureMonitor(AzureScheme[AzureOptions]):
    """An alert comes twice under one id: when it fires, and when it is resolved."""

    name: ClassVar[str] = "azure-monitor"
    options: ClassVar[type[Options]] = AzureOptions

    def read(self, request: WebhookRequest, trust: Trust[AzureOptions]) -> tuple[WebhookEvent, ...]:  # noqa: ARG002
        require_json(request)
        payload = parse_object(request.body)
        data = payload.get("data")
        essentials = data.get("essentials") if isinstance(data, dict) else None
        if payload.get("schemaId") != _SCHEMA or not isinstance(essentials, dict):
            raise MalformedBody("The alert is not of the common alert schema. Turn it on in the action.")
        condition = text_of(essentials, "monitorCondition").lower()
        at = essentials.get("resolvedDateTime") if condition == "resolved" else None
        return (
            WebhookEvent(
                event_id=f"{text_of(essentials, 'alertId')}:{condition}",
                event_type=event_label(f"alert.{condition}"),
                account="",
                event_time=iso_time(at or essentials.get("firedDateTime")),
                payload=payload,
                raw=request.body,
            ),
        )
