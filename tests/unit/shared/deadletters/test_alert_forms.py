"""The forms of an alert."""

import json

import pytest

from shared.deadletters.alert_forms import AlertForm, form_for, payload
from shared.deadletters.ports import Alert
from shared.jobs import Category

_LINK = "https://example.com/api/dead-letters?a=1&fingerprint=x"


def _alert(count: int = 1, code: str = "unsupported_format", link: str | None = _LINK) -> Alert:
    return Alert(
        fingerprint="summarize_document.unsupported_format",
        task_type="summarize_document",
        code=code,
        category=Category.FIX_INPUT,
        count=count,
        link=link,
    )


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("https://hooks.slack.com/services/T0/B0/x", AlertForm.SLACK),
        ("https://HOOKS.slack.com:443/services/x", AlertForm.SLACK),
        ("https://prod-1.westeurope.logic.azure.com:443/workflows/x?sig=y", AlertForm.TEAMS),
        ("https://default1.2.environment.api.powerplatform.com/powerautomate/x", AlertForm.TEAMS),
        ("https://example.webhook.office.com/webhookb2/x", AlertForm.TEAMS),
        ("https://example.com/hooks.slack.com", AlertForm.PLAIN),
        ("https://hooks.slack.com.example.com/x", AlertForm.PLAIN),
        ("https://evillogic.azure.com/x", AlertForm.PLAIN),
        ("http://127.0.0.1:8080/x", AlertForm.PLAIN),
        ("http://localhost/x", AlertForm.PLAIN),
        ("http://[::1]:80/x", AlertForm.PLAIN),
    ],
)
def test_the_host_decides_the_form(url: str, form: AlertForm) -> None:
    assert form_for(url) is form


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "http://example.com/x",
        "ftp://example.com",
        "https://",
        "https://[x",
        "https://a:b/",
        "file:///x",
    ],
)
def test_an_address_that_no_alert_may_go_to_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(ValueError, match="alert webhook's address") as caught:
        form_for(url)
    assert not url or len(url) < 3 or url not in str(caught.value)


def test_slack_gets_text_with_its_three_characters_escaped() -> None:
    body = payload(_alert(code="a<b>&c"), AlertForm.SLACK)
    assert list(body) == ["text"]
    assert "a&lt;b&gt;&amp;c" in body["text"]
    assert body["text"].endswith(
        "<https://example.com/api/dead-letters?a=1&amp;fingerprint=x|Open the cases>"
    )


def test_teams_gets_an_adaptive_card() -> None:
    body = payload(_alert(count=3), AlertForm.TEAMS)
    assert body["type"] == "message"
    (attachment,) = body["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card = attachment["content"]
    assert card["type"] == "AdaptiveCard"
    assert {"title": "Cases", "value": "3"} in card["body"][1]["facts"]
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Open the cases", "url": _LINK}]


def test_anyone_else_gets_text_and_the_fields() -> None:
    body = payload(_alert(count=2), AlertForm.PLAIN)
    assert body.pop("text").startswith(
        "Afterhook: summarize_document fails with unsupported_format (fix_input)"
    )
    assert body == {
        "event": "failure_kind_appeared",
        "fingerprint": "summarize_document.unsupported_format",
        "task": "summarize_document",
        "code": "unsupported_format",
        "category": "fix_input",
        "count": 2,
        "link": _LINK,
    }


@pytest.mark.parametrize("form", AlertForm)
def test_every_form_works_without_a_link_and_is_small_json(form: AlertForm) -> None:
    text = json.dumps(payload(_alert(link=None), form))
    assert len(text) < 4096
    assert "https://example.com" not in text
