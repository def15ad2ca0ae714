"""Azure Monitor's alerts: each when it fires, and once more when it is resolved."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from devhost.senders import azure_monitor as sender
from shared.webhooks.azure_monitor import AzureMonitor
from shared.webhooks.base import Trust, WebhookEvent, WebhookRequest
from shared.webhooks.rejections import MalformedBody, UnsupportedMediaType
from tests.unit.shared.webhooks.requests import FIVE_MINUTES, NOW, request
from tests.unit.shared.webhooks.sources import EXAMPLES

SCHEME = AzureMonitor()
SECRET = EXAMPLES["azure-monitor-header"].settings["A_SECRET"]
ALERT_ID = (
    "/subscriptions/11112222-3333-4444-5555-666677778888/providers/Microsoft.AlertsManagement"
    "/alerts/b9569717-bc32-442f-add5-83a997729330"
)


def alert(**essentials: Any) -> dict[str, Any]:
    found = {
        "alertId": ALERT_ID,
        "alertRule": "too slow",
        "severity": "Sev3",
        "monitorCondition": "Fired",
        "firedDateTime": "2026-07-27T10:14:00.1234567Z",
        "essentialsVersion": "1.0",
    } | essentials
    given = {name: value for name, value in found.items() if value is not None}
    return {"schemaId": "azureMonitorCommonAlertSchema", "data": {"essentials": given, "alertContext": {}}}


def trust(name: str = "azure-monitor-header") -> Trust[Any]:
    example = EXAMPLES[name]
    return Trust(options=example.options, now=NOW, tolerance=FIVE_MINUTES, keys=[SECRET.encode()])


def read(document: Any, **headers: str) -> WebhookEvent:
    sent = {"content-type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()}
    (event,) = SCHEME.read(request(json.dumps(document).encode(), sent), trust())
    return event


def test_an_alert_that_fires_and_is_resolved_is_two_events_of_one_id() -> None:
    fired = read(alert())
    resolved = read(alert(monitorCondition="Resolved", resolvedDateTime="2026-07-27T10:20:00Z"))
    assert (fired.event_type, fired.event_id) == ("alert.fired", f"{ALERT_ID}:fired")
    assert (resolved.event_type, resolved.event_id) == ("alert.resolved", f"{ALERT_ID}:resolved")
    assert fired.event_time == datetime(2026, 7, 27, 10, 14, 0, 123456, tzinfo=UTC)
    assert resolved.event_time == datetime(2026, 7, 27, 10, 20, tzinfo=UTC)


def test_the_whole_alert_is_the_events_payload() -> None:
    event = read(alert())
    assert event.payload == alert()
    assert json.loads(event.raw) == alert()


def test_the_same_alert_by_two_action_groups_is_one_event() -> None:
    assert read(alert()).event_id == read({**alert(), "extra": 1}).event_id


@pytest.mark.parametrize(
    "document",
    [
        {},
        [alert()],
        {"schemaId": "AzureMonitorMetricAlert", "data": {}},
        {"schemaId": "azureMonitorCommonAlertSchema"},
        {"schemaId": "azureMonitorCommonAlertSchema", "data": []},
        {"schemaId": "azureMonitorCommonAlertSchema", "data": {"essentials": "x"}},
        alert(alertId=None),
        alert(alertId=""),
        alert(alertId=7),
        alert(monitorCondition=None),
        alert(monitorCondition=["Fired"]),
    ],
)
def test_an_alert_of_another_schema_is_malformed(document: Any) -> None:
    with pytest.raises(MalformedBody):
        read(document)


def test_who_uses_another_schema_is_told_what_to_do() -> None:
    with pytest.raises(MalformedBody, match="Turn it on"):
        read({"schemaId": "Microsoft.Insights/activityLogs", "data": {}})


@pytest.mark.parametrize("at", [None, "", "now", 7, "2026-07-27T10:14:00"])
def test_a_time_that_cannot_be_read_is_none(at: Any) -> None:
    assert read(alert(firedDateTime=at)).event_time is None


def test_another_media_type_is_unsupported() -> None:
    with pytest.raises(UnsupportedMediaType):
        read(alert(), content_type="text/plain")


@pytest.mark.parametrize("query", [None, "code"])
def test_the_sender_shows_its_secret_in_a_header_or_the_query(query: str | None) -> None:
    headers, text, body = sender.signed(json.dumps(alert()).encode(), SECRET, now=NOW, query=query)
    sent = WebhookRequest(method="POST", headers=headers, query=text, url="https://e.com/a", body=body)
    checked = trust("azure-monitor-header" if query is None else "azure-monitor-query")
    assert SCHEME.verify(sent, checked).secret_index == 0
    assert len(SCHEME.read(sent, checked)) == 1


def test_only_a_source_with_a_token_has_published_keys_and_a_tolerance() -> None:
    for name, token in (("azure-monitor-header", False), ("azure-monitor-token", True)):
        options: Any = EXAMPLES[name].options
        assert SCHEME.signs_time(options) is token
        assert SCHEME.wants_secrets(options) is SCHEME.takes_secrets(options) is not token
        assert (SCHEME.key_set(options) is not None) is token
