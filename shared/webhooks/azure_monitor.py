"""Azure Monitor action groups, with the common alert schema.

Sources: https://learn.microsoft.com/azure/azure-monitor/alerts/action-groups and
https://learn.microsoft.com/azure/azure-monitor/alerts/alerts-common-schema
"""

from typing import ClassVar

from shared.webhooks.azure_trust import AzureOptions, verify_azure
from shared.webhooks.base import Options, Scheme, Trust, Verified, WebhookEvent, WebhookRequest
from shared.webhooks.identity import event_label
from shared.webhooks.parsing import parse_object, require_json, text_of
from shared.webhooks.rejections import MalformedBody
from shared.webhooks.signatures import text_key
from shared.webhooks.times import iso_time

_SCHEMA = "azureMonitorCommonAlertSchema"


class AzureMonitor(Scheme[AzureOptions]):
    """An alert comes twice under one id: when it fires, and when it is resolved."""

    name: ClassVar[str] = "azure-monitor"
    options: ClassVar[type[Options]] = AzureOptions

    def load_key(self, secret: str, options: AzureOptions) -> bytes:  # noqa: ARG002  the scheme's interface
        return text_key(secret)

    def wants_secrets(self, options: AzureOptions) -> bool:
        return options.token is None

    def signs_time(self, options: AzureOptions) -> bool:
        return options.token is not None

    def key_set(self, options: AzureOptions) -> str | None:
        return None if options.token is None else options.token.address

    def verify(self, request: WebhookRequest, trust: Trust[AzureOptions]) -> Verified:
        return verify_azure(request, trust)

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
