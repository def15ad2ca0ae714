"""Webhooks that a rule at Twilio signs with a shared key instead of the auth token."""

from datetime import timedelta

import pytest

from devhost.senders import twilio as sender
from shared.webhooks.base import Trust, WebhookRequest
from shared.webhooks.secrets import SourceNotConfigured, load_keys
from shared.webhooks.verification import verify
from tests.unit.shared.webhooks.requests import NOW
from tests.unit.shared.webhooks.sources import EXAMPLES, Example
from tests.unit.shared.webhooks.twilio_requests import (
    KEYS,
    MESSAGE,
    PUBLIC_URL,
    SCHEME,
    SHARED,
    TOKEN,
    incoming,
    refused,
    trust,
)


def shared_request(settings: str, algorithm: str, key: str = SHARED, body: bytes = MESSAGE) -> WebhookRequest:
    signature = sender.signature(PUBLIC_URL, body, key, algorithm)
    return incoming(body, signature, x_twilio_webhooks_signature_settings=settings)


@pytest.mark.case(80)
@pytest.mark.parametrize(
    ("settings", "algorithm"),
    [
        ("key=key-1,algorithm=HMAC_SHA256", "HMAC_SHA256"),
        ("key=key-1,algorithm=HMAC_SHA1", "HMAC_SHA1"),
        ("algorithm=HMAC_SHA256, key=key-1", "HMAC_SHA256"),
        (" key = key-1 , algorithm = HMAC_SHA256 , version=2", "HMAC_SHA256"),
    ],
)
def test_a_shared_key_signs_with_the_algorithm_that_the_settings_name(settings: str, algorithm: str) -> None:
    request = shared_request(settings, algorithm)
    verified = SCHEME.verify(request, trust(named=KEYS))
    assert (verified.secret_index, verified.named) == (None, "key-1")
    assert refused(shared_request(settings, algorithm, key=TOKEN), trust(named=KEYS))
    other = "HMAC_SHA1" if algorithm == "HMAC_SHA256" else "HMAC_SHA256"
    assert refused(shared_request(settings, other), trust(named=KEYS))


@pytest.mark.case(80)
@pytest.mark.parametrize(
    "settings",
    [
        "key=unknown,algorithm=HMAC_SHA256",
        "key=key-2,algorithm=HMAC_SHA256",
        "key=key-1,algorithm=HMAC_MD5",
        "key=key-1,algorithm=hmac_sha256",
        "key=key-1",
        "algorithm=HMAC_SHA256",
        "key=key-1,algorithm=HMAC_SHA256,algorithm=HMAC_SHA1",
        "key=key-1,key=key-2,algorithm=HMAC_SHA256",
        "key=é,algorithm=HMAC_SHA256",
        "key=,algorithm=",
        ",",
    ],
)
def test_settings_that_name_another_key_or_algorithm_are_refused(settings: str) -> None:
    for algorithm in sender.ALGORITHMS:
        assert refused(shared_request(settings, algorithm), trust(named=KEYS))


@pytest.mark.case(80)
def test_the_settings_choose_neither_the_auth_token_nor_no_key_at_all() -> None:
    settings = "key=key-1,algorithm=HMAC_SHA1"
    assert refused(shared_request(settings, "HMAC_SHA1", key=TOKEN), trust(named=KEYS))
    assert refused(shared_request(settings, "HMAC_SHA1", key=TOKEN))
    request = shared_request("", "HMAC_SHA1", key=SHARED)  # without the header only the token counts
    assert refused(request, trust(named=KEYS))
    empty = WebhookRequest(
        method="POST",
        headers={**incoming(MESSAGE).headers, "x-twilio-webhooks-signature-settings": ""},
        query="",
        url=PUBLIC_URL,
        body=MESSAGE,
    )
    assert refused(empty, trust(named=KEYS))


def test_a_shared_key_that_is_not_set_is_our_fault() -> None:
    example = EXAMPLES["twilio-shared-key"]
    unset = Example(scheme=example.scheme, table=example.table, settings={"A_SECRET": TOKEN})
    keys = load_keys(unset.policy(), unset.settings)
    checked = Trust(options=unset.options, now=NOW, tolerance=timedelta(minutes=5))
    assert verify(SCHEME, incoming(MESSAGE), keys, checked).secret_index == 0
    with pytest.raises(SourceNotConfigured):
        verify(SCHEME, shared_request("key=key-1,algorithm=HMAC_SHA256", "HMAC_SHA256"), keys, checked)
