"""Tokens of Entra ID of another form, however broken, deep or long: refused."""

import base64
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.webhooks.rejections import WebhookRejected
from tests.support.issuer import rsa_key, token
from tests.unit.shared.webhooks.entra_tokens import ROLE, bearer, check, claims, part, refused


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
