"""Tokens of Entra ID: whom they must be from and for, and when they count."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from shared.webhooks.rejections import StaleTimestamp
from tests.support.issuer import token
from tests.unit.shared.webhooks.entra_tokens import (
    APP_ID,
    AUDIENCE,
    OTHER,
    ROLE,
    bearer,
    check,
    claims,
    options,
    refused,
)
from tests.unit.shared.webhooks.sources import TENANT


@pytest.mark.parametrize("version", [1, 2])
def test_a_good_token_of_either_version_is_taken(version: int) -> None:
    check(bearer(claims(version)))


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "bEaReR"])
def test_the_word_bearer_is_read_without_regard_to_case(scheme: str) -> None:
    check(f"{scheme} {token(claims())}")
    check(f"{scheme}   {token(claims())}")


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "api://somebody-else"},
        {"aud": ["api://somebody-else"]},
        {"aud": 7},
        {"aud": None},
        {"iss": f"https://login.microsoftonline.com/{OTHER}/v2.0"},
        {"iss": f"https://sts.windows.net/{TENANT}"},
        {"iss": None},
        {"tid": OTHER},
        {"tid": None},
        {"azp": OTHER},
        {"azp": None},
        {"azp": OTHER, "appid": APP_ID},
        {"azp": [APP_ID]},
        {"roles": ["Reader"]},
        {"roles": ROLE},
        {"roles": {ROLE: True}},
        {"roles": None},
        {"exp": None},
        {"exp": "soon"},
        {"exp": True},
        {"exp": 1e300},
        {"nbf": "now"},
        {"nbf": [1]},
    ],
)
def test_a_wrong_or_missing_claim_is_refused(changes: dict[str, Any]) -> None:
    assert refused(bearer(claims(**changes)))


def test_a_version_1_token_of_another_application_is_refused() -> None:
    assert refused(bearer(claims(1, appid=OTHER)))


def test_one_of_several_audiences_and_roles_is_enough() -> None:
    several = options(audience=["api://another", AUDIENCE])
    check(bearer(claims(aud=["x", AUDIENCE], roles=["Reader", ROLE])), several)


def test_either_the_application_or_the_role_alone_can_be_wanted() -> None:
    check(bearer(claims(roles=None)), options(role=None))
    check(bearer(claims(azp=OTHER)), options(app_id=None))
    assert refused(bearer(claims(azp=OTHER, roles=None)), options(role=None))
    assert refused(bearer(claims(roles=None)), options(app_id=None))


@pytest.mark.parametrize(
    ("later", "taken"),
    [
        (timedelta(hours=1), True),
        (timedelta(hours=1, minutes=5), True),
        (timedelta(hours=1, minutes=5, seconds=1), False),
        (-timedelta(minutes=5), True),
        (-timedelta(minutes=5, seconds=1), False),
    ],
)
def test_a_token_counts_from_nbf_to_exp_with_the_tolerance_on_both_sides(
    later: timedelta, taken: bool
) -> None:
    if taken:
        check(bearer(claims()), later=later)
        return
    with pytest.raises(StaleTimestamp) as caught:
        check(bearer(claims()), later=later)
    assert caught.value.skew_seconds == (-301 if later > timedelta() else 301)


def test_the_tenant_is_compared_in_small_letters() -> None:
    capital = options(tenant=TENANT.replace("1", "A"))
    assert capital.tenant == TENANT.replace("1", "a")
    assert all(capital.tenant in issuer for issuer in capital.issuers)


def test_issuers_and_keys_follow_from_the_tenant_unless_given() -> None:
    usual = options()
    assert usual.address == f"https://login.microsoftonline.com/{TENANT}/discovery/v2.0/keys"
    assert usual.issuers == (
        f"https://login.microsoftonline.com/{TENANT}/v2.0",
        f"https://sts.windows.net/{TENANT}/",
    )
    sovereign = options(issuer=["https://login.example/v2.0"], keys_url="https://login.example/keys")
    assert (sovereign.issuers, sovereign.address) == (
        ["https://login.example/v2.0"],
        "https://login.example/keys",
    )
    check(bearer(claims(iss="https://login.example/v2.0")), sovereign)
    assert refused(bearer(claims()), sovereign)


@pytest.mark.parametrize(
    "more",
    [
        {"tenant": "common"},
        {"tenant": "contoso.onmicrosoft.com"},
        {"tenant": "-" * 36},
        {"tenant": TENANT + "\n"},
        {"audience": []},
        {"audience": [""]},
        {"audience": AUDIENCE},
        {"app_id": None, "role": None},
        {"app_id": ""},
        {"keys_url": "http://login.example/keys"},
        {"secret": "x"},
    ],
)
def test_wrong_options_are_refused(more: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        options(**more)
