"""Tokens of Entra ID, made with a real RSA key: which are taken, and why others are not."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shared.webhooks.base import Jwk, Trust
from shared.webhooks.entra import TokenOptions, check_token
from shared.webhooks.rejections import BadSignature, StaleTimestamp, UnknownSigningKey, WebhookRejected
from tests.support.issuer import entra_claims, public_jwk, rsa_key, token
from tests.unit.shared.webhooks.requests import FIVE_MINUTES, NOW
from tests.unit.shared.webhooks.sources import TENANT

AUDIENCE = "api://afterhook"
APP_ID = "461e8683-5575-4561-ac7f-899cc907d62a"
ROLE = "ActionGroupsSecureWebhook"
OTHER = "99998888-7777-6666-5555-444433332222"
PUBLISHED = [public_jwk("first")]


def options(**more: Any) -> TokenOptions:
    table = {"tenant": TENANT, "audience": [AUDIENCE], "app_id": APP_ID, "role": ROLE}
    return TokenOptions.model_validate({k: v for k, v in {**table, **more}.items() if v is not None})


def claims(version: int = 2, **changes: Any) -> dict[str, Any]:
    """A good token's; a change to None takes the claim out."""
    found = entra_claims(tenant=TENANT, audience=AUDIENCE, app_id=APP_ID, role=ROLE, now=NOW, version=version)
    return {name: value for name, value in {**found, **changes}.items() if value is not None}


def check(
    text: str,
    checked: TokenOptions | None = None,
    *,
    published: Sequence[Jwk] = PUBLISHED,
    later: timedelta = timedelta(),
) -> None:
    """Raises what `check_token` raises for the header `text`."""
    found = checked or options()
    trust = Trust(options=found, now=NOW + later, tolerance=FIVE_MINUTES, published=published)
    check_token(text, found, trust)


def refused(text: str, checked: TokenOptions | None = None, **more: Any) -> bool:
    try:
        check(text, checked, **more)
    except UnknownSigningKey:
        return False
    except BadSignature:
        return True
    return False


def bearer(found: Mapping[str, Any], **more: Any) -> str:
    return f"Bearer {token(found, **more)}"


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


def part(document: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")


def test_a_token_without_signature_is_refused() -> None:
    for algorithm in ("none", "None", "NONE", ""):
        header = part({"alg": algorithm, "kid": "first", "typ": "JWT"})
        assert refused(f"Bearer {header}.{part(claims())}.")


def test_a_token_signed_with_the_public_key_as_a_secret_is_refused() -> None:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    public = rsa_key("first").public_key()
    shown = json.dumps(public_jwk("first")).encode()
    for secret in (public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo), shown, b""):
        signed = f"{part({'alg': 'HS256', 'kid': 'first'})}.{part(claims())}"
        mac = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
        assert refused(f"Bearer {signed}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}")


@pytest.mark.parametrize("algorithm", ["RS384", "RS512", "PS256"])
def test_another_algorithm_of_the_same_key_is_refused(algorithm: str) -> None:
    text = jwt.encode(claims(), rsa_key("first"), algorithm=algorithm, headers={"kid": "first"})
    assert refused(f"Bearer {text}")
    assert refused(f"Bearer {text}", published=[])  # nobody fetches keys for it


def test_a_token_of_another_key_under_a_known_name_is_refused() -> None:
    assert refused(bearer(claims(), key="second", kid="first"))


def test_a_token_whose_key_is_not_published_may_be_signed_with_a_new_one() -> None:
    for published in ([], PUBLISHED):
        with pytest.raises(UnknownSigningKey):
            check(bearer(claims(), key="second"), published=published)


def test_a_token_that_does_not_name_its_key_is_refused_without_looking_for_one() -> None:
    assert refused(bearer(claims(), kid=None), published=[])
    assert refused(f"Bearer {part({'alg': 'RS256', 'kid': 7})}.{part(claims())}.AAAA", published=[])


@pytest.mark.parametrize(
    "jwk",
    [
        {"kid": "first", "kty": "oct", "k": "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE"},
        {"kid": "first", "kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kid": "first", "kty": "OKP", "crv": "Ed25519", "x": "AA"},
        {"kid": "first"},
        {"kty": "RSA", "n": "AA", "e": "AQAB"},
        public_jwk("first", use="enc"),
        public_jwk("first", kid=["first"]),
    ],
)
def test_a_published_key_of_another_kind_is_no_key_of_a_token(jwk: Jwk) -> None:
    with pytest.raises(UnknownSigningKey):
        check(bearer(claims()), published=[jwk])
    check(bearer(claims()), published=[jwk, *PUBLISHED])


@pytest.mark.parametrize("broken", [{"n": None}, {"n": "!"}, {"e": ""}, {"n": 7}, {"n": "AQAB", "e": "AQAB"}])
def test_a_broken_published_key_verifies_nothing(broken: dict[str, Any]) -> None:
    assert refused(bearer(claims()), published=[{**public_jwk("first"), **broken}])


def test_a_published_key_needs_neither_use_nor_algorithm() -> None:
    check(bearer(claims()), published=[public_jwk("first", use=None, alg=None)])
    check(bearer(claims()), published=[public_jwk("first", alg="HS256")])


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer  ",
        "Basic dXNlcjpwYXNz",
        "Token {0}",
        "{0}",
        "Bearer {0} {0}",
        "Bearer {0}, Bearer {0}",
        "Bearer {0},{0}",
        "Bearer {0}.{0}",
        "Bearer é",
        "Bearer \udcff",
        "Bearer a.b.c",
        "Bearer ..",
        "Bearer " + "A" * 16385,
        "Bearer " + "A" * 16384,
    ],
)
def test_a_header_of_another_form_is_refused_whatever_the_keys(header: str) -> None:
    text = header.format(token(claims()))
    assert refused(text)
    assert refused(text, published=[])


def test_a_huge_token_is_not_even_parsed() -> None:
    assert refused(bearer(claims(roles=[ROLE, "x" * 20_000])))


def test_deeply_nested_and_unusual_json_is_refused() -> None:
    deep = base64.urlsafe_b64encode(b"[" * 10_000).decode().rstrip("=")
    good = part({"alg": "RS256", "kid": "first"})
    for text in (f"{deep}.{part({})}.AAAA", f"{good}.{deep}.AAAA", f"{part([])}.{part([])}.AAAA"):
        assert refused(f"Bearer {text}")


@pytest.mark.parametrize(
    "headers",
    [
        {"crit": ["exp"]},
        {"b64": False, "crit": ["b64"]},
    ],
)
def test_critical_headers_are_not_passed_over(headers: dict[str, Any]) -> None:
    text = f"{part({'alg': 'RS256', 'kid': 'first', **headers})}.{part(claims())}"
    signature = jwt.get_algorithm_by_name("RS256").sign(text.encode(), rsa_key("first"))
    assert refused(f"Bearer {text}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}")


GOOD = token(claims())


@given(place=st.integers(0, len(GOOD) - 1), other=st.sampled_from("ABab01-_.=é \n"))
def test_a_token_with_any_other_character_is_refused(place: int, other: str) -> None:
    changed = GOOD[:place] + other + GOOD[place + 1 :]
    if changed == GOOD or (place == len(GOOD) - 1 and other in "ABab01-_"):
        return  # the last character's lowest bits may mean nothing
    with pytest.raises(WebhookRejected):
        check(f"Bearer {changed}")


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
