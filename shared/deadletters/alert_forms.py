"""How an alert looks to the service that shows it: chosen by the webhook's host.

Slack: https://api.slack.com/messaging/webhooks, escaping: https://api.slack.com/reference/surfaces/formatting#escaping
Teams: https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from shared.deadletters.ports import Alert

_SLACK_HOST = "hooks.slack.com"
_TEAMS_HOSTS = (".logic.azure.com", ".powerplatform.com", ".webhook.office.com")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class AlertForm(StrEnum):
    SLACK = "slack"
    TEAMS = "teams"
    PLAIN = "plain"


def form_for(url: str) -> AlertForm:
    """The form that the host of `url` takes. Raises ValueError for an address that no alert may go to.

    Alerts go out over https, or over http to this machine only. The text never quotes the address, which is
    a secret.
    """
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        _ = parts.port
    except ValueError:
        raise ValueError("The alert webhook's address cannot be read.") from None
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)):
        raise ValueError("The alert webhook's address must be https, or http to this machine.")
    if host == _SLACK_HOST:
        return AlertForm.SLACK
    return AlertForm.TEAMS if host.endswith(_TEAMS_HOSTS) else AlertForm.PLAIN


def payload(alert: Alert, form: AlertForm) -> dict[str, Any]:
    """The JSON body to post."""
    match form:
        case AlertForm.SLACK:
            return {"text": _slack_text(alert)}
        case AlertForm.TEAMS:
            return {"type": "message", "attachments": [_teams_card(alert)]}
        case AlertForm.PLAIN:
            return {"text": _text(alert), **fields(alert)}


def fields(alert: Alert) -> Mapping[str, str | int | None]:
    """The alert as named values, for logs and for receivers that are programs."""
    return {
        "event": "failure_kind_appeared",
        "fingerprint": alert.fingerprint,
        "task": alert.task_type,
        "code": alert.code,
        "category": alert.category.value,
        "count": alert.count,
        "link": alert.link,
    }


def _text(alert: Alert) -> str:
    cases = "1 case" if alert.count == 1 else f"{alert.count} cases"
    return (
        f"Afterhook: {alert.task_type} fails with {alert.code} ({alert.category.value}), {cases} so far. "
        "A person must decide."
    )


def _slack_text(alert: Alert) -> str:
    text = _slack_escaped(_text(alert))
    return text if alert.link is None else f"{text} <{_slack_escaped(alert.link)}|Open the cases>"


def _slack_escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _teams_card(alert: Alert) -> dict[str, Any]:
    facts = {"Task": alert.task_type, "Code": alert.code, "Category": alert.category.value}
    content: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [
            {"type": "TextBlock", "text": _text(alert), "wrap": True, "weight": "Bolder"},
            {
                "type": "FactSet",
                "facts": [
                    *({"title": title, "value": value} for title, value in facts.items()),
                    {"title": "Cases", "value": str(alert.count)},
                ],
            },
        ],
    }
    if alert.link is not None:
        content["actions"] = [{"type": "Action.OpenUrl", "title": "Open the cases", "url": alert.link}]
    return {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": content}
