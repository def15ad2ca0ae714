"""Shared access signatures, made by the SDK's own function."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote_plus

import pytest
from azure.servicebus._pyamqp import utils

from devhost.servicebus.faults import FaultError
from devhost.servicebus.sas import Grant, SharedKey, check_token

KEY = SharedKey("policy", "s3cret/+=")
NOW = 1_800_000_000.0
AUDIENCE = "sb://127.0.0.1:5672/Queue"


def token(
    audience: str = AUDIENCE, name: str = "policy", key: str = KEY.key, expiry: float = NOW + 60
) -> str:
    sdk: Any = utils
    made: str = sdk.generate_sas_token(audience, name, key, int(expiry))
    return made


@pytest.mark.oracle
def test_a_token_of_the_sdk_opens_its_entity() -> None:
    assert check_token(token(), AUDIENCE, KEY, NOW) == Grant("Queue", NOW + 60)


def test_a_grant_covers_what_is_below_it_in_any_case_and_nothing_beside_it() -> None:
    grant = Grant("Queue", NOW + 60)
    assert grant.covers("queue", NOW)
    assert grant.covers("QUEUE/$deadletterqueue", NOW)
    assert not grant.covers("queue2", NOW)
    assert not grant.covers("", NOW)
    assert not grant.covers("queue", NOW + 60)


def test_a_token_for_the_namespace_opens_every_entity() -> None:
    assert check_token(token("sb://127.0.0.1:5672/"), AUDIENCE, KEY, NOW).covers("anything", NOW)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ("eyJhbGciOiJub25lIn0.e30.", "Only shared access signatures"),
        (token(name="other"), "key name is not known"),
        (token(key="wrong"), "signature does not match"),
        (token(expiry=NOW - 1), "has expired"),
        (token("sb://127.0.0.1:5672/other"), "another entity"),
        (token().replace("se=", "se=1"), "signature does not match"),
        ("SharedAccessSignature sr=x&sig=y&skn=policy&se=soon", "not a number"),
        ("SharedAccessSignature sr=x&sig=y&skn=policy&se=" + "9" * 400, "not a number"),
        ("SharedAccessSignature sr=x&sig=%C3%A9&skn=policy&se=1", "signature does not match"),
        ("SharedAccessSignature ", "key name is not known"),
    ],
)
def test_a_token_that_is_not_good_is_refused_saying_why_and_not_repeating_it(bad: str, sentence: str) -> None:
    with pytest.raises(FaultError, match=sentence) as caught:
        check_token(bad, AUDIENCE, KEY, NOW)
    assert caught.value.condition == "amqp:unauthorized-access"
    assert not set(str(caught.value).split()) & set(bad.split())


def test_the_key_is_not_in_its_representation() -> None:
    assert KEY.key not in repr(KEY)
    assert quote_plus(KEY.key) not in repr(KEY)
