"""Tokens of Entra ID: which algorithm and which published key a signature may be of."""

import base64
import hashlib
import hmac
import json
from typing import Any

import jwt
import pytest

from shared.webhooks.base import Jwk
from shared.webhooks.rejections import UnknownSigningKey
from tests.support.issuer import public_jwk, rsa_key
from tests.unit.shared.webhooks.entra_tokens import PUBLISHED, bearer, check, claims, part, refused


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
def test_a_broken_published_key_is_no_key_and_not_the_senders_fault(broken: dict[str, Any]) -> None:
    jwk = {**public_jwk("first"), **broken}
    with pytest.raises(UnknownSigningKey):
        check(bearer(claims()), published=[jwk])
    check(bearer(claims()), published=[jwk, *PUBLISHED])


def test_a_published_key_needs_neither_use_nor_algorithm() -> None:
    check(bearer(claims()), published=[public_jwk("first", use=None, alg=None)])
    check(bearer(claims()), published=[public_jwk("first", alg="HS256")])
