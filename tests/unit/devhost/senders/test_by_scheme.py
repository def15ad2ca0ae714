"""What is signed for a source of pipeline.toml is what that source takes."""

import json
from datetime import timedelta

import pytest

from devhost.senders.by_scheme import CannotSignError, NoSecretError, sign_for
from shared.webhooks.base import Trust, WebhookRequest
from tests.unit.shared.webhooks.requests import NOW
from tests.unit.shared.webhooks.sources import EXAMPLES

BODY = json.dumps({"id": "evt_1", "object": "event", "type": "note.created", "event": "note"}).encode()
NOT_SIGNED_HERE = {"azure-monitor-token", "event-grid-token", "fal", "standard-public"}


def table_of(name: str) -> dict[str, object]:
    example = EXAMPLES[name]
    return {"scheme": example.scheme, "secrets": list(example.secrets), **example.table}


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - NOT_SIGNED_HERE))
def test_what_is_signed_for_a_source_verifies_there(name: str) -> None:
    example = EXAMPLES[name]
    headers, query, body = sign_for(table_of(name), example.settings, BODY, now=NOW)
    request = WebhookRequest(method="POST", headers=headers, query=query, url="", body=body)
    keys = example.keys()
    trust = Trust(
        options=example.options,
        now=NOW,
        tolerance=timedelta(minutes=5),
        keys=keys.keys,
        named=keys.named,
        published=example.published,
    )
    assert example.implementation.verify(request, trust).secret_index == 0


@pytest.mark.parametrize("name", sorted(NOT_SIGNED_HERE))
def test_what_only_the_sender_can_sign_is_said(name: str) -> None:
    with pytest.raises(CannotSignError):
        sign_for(table_of(name), EXAMPLES[name].settings, BODY, now=NOW)


def test_a_missing_secret_is_named_by_its_setting() -> None:
    with pytest.raises(CannotSignError, match="A_SECRET"):
        sign_for(table_of("github"), {}, BODY, now=NOW)


def test_a_source_of_no_known_scheme_is_refused() -> None:
    with pytest.raises(CannotSignError, match="pigeon"):
        sign_for({"scheme": "pigeon"}, {}, BODY, now=NOW)


def test_the_type_goes_into_the_header_that_carries_it() -> None:
    headers, _, _ = sign_for(
        table_of("github"), EXAMPLES["github"].settings, BODY, now=NOW, event="repository_dispatch"
    )
    assert headers["x-github-event"] == "repository_dispatch"
    topic, _, _ = sign_for(
        table_of("shopify"), EXAMPLES["shopify"].settings, BODY, now=NOW, event="orders/paid"
    )
    assert topic["x-shopify-topic"] == "orders/paid"


def test_a_twilio_source_that_has_only_shared_keys_is_signed_for_with_the_first() -> None:
    example = EXAMPLES["twilio-shared-key"]
    table = {**table_of("twilio-shared-key"), "secrets": []}
    headers, query, body = sign_for(table, example.settings, BODY, now=NOW)
    request = WebhookRequest(method="POST", headers=headers, query=query, url="", body=body)
    trust = Trust(
        options=example.options, now=NOW, tolerance=timedelta(minutes=5), named=example.keys().named
    )
    assert example.implementation.verify(request, trust).named == "key-1"


@pytest.mark.parametrize("name", ["standard", "hmac", "twilio", "event-grid-header"])
def test_a_type_that_no_header_carries_is_refused_and_not_dropped(name: str) -> None:
    with pytest.raises(CannotSignError, match="into the body"):
        sign_for(table_of(name), EXAMPLES[name].settings, BODY, now=NOW, event="note")


def test_the_type_goes_into_the_header_that_a_generic_source_names() -> None:
    table = {**table_of("hmac"), "type_header": "X-Type"}
    headers, _, _ = sign_for(table, EXAMPLES["hmac"].settings, BODY, now=NOW, event="note")
    assert headers["x-type"] == "note"


@pytest.mark.parametrize("name", ["standard", "hmac-everything"])
def test_a_secret_of_another_form_is_said_and_not_shown(name: str) -> None:
    with pytest.raises(CannotSignError, match="A_SECRET") as refused:
        sign_for(table_of(name), {"A_SECRET": "no secret of its form"}, BODY, now=NOW)
    assert "no secret" not in str(refused.value)


def test_a_body_that_twilio_would_not_send_is_said() -> None:
    with pytest.raises(CannotSignError, match="neither JSON nor a form"):
        sign_for(table_of("twilio"), EXAMPLES["twilio"].settings, b"\xff", now=NOW)


@pytest.mark.parametrize("secret", ["", "  ", "change-me-to-the-secret"])
def test_an_empty_secret_or_the_samples_placeholder_is_none(secret: str) -> None:
    with pytest.raises(NoSecretError, match="A_SECRET"):
        sign_for(table_of("github"), {"A_SECRET": secret}, BODY, now=NOW)
