"""HMACs in constant time, canonical base64, and secrets of another kind."""

import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.webhooks.base import UnusableSecret
from shared.webhooks.signatures import (
    MOST_CANDIDATES,
    canonical_base64,
    hmac_sha256,
    matching_key,
    refuse_kinds,
    text_key,
)


@given(key=st.binary(), parts=st.lists(st.binary(max_size=20), max_size=5))
def test_the_digest_is_that_of_the_parts_together(key: bytes, parts: list[bytes]) -> None:
    assert hmac_sha256(key, *parts) == hmac.new(key, b"".join(parts), hashlib.sha256).digest()


@pytest.mark.case(10)
def test_a_character_cut_in_two_is_the_same_text_to_the_digest() -> None:
    body = '{"text":"Grüße ☕ 👋"}'.encode()
    assert hmac_sha256(b"key", *(bytes([byte]) for byte in body)) == hmac_sha256(b"key", body)


@given(st.binary())
def test_base64_is_read_in_its_one_spelling(content: bytes) -> None:
    assert canonical_base64(base64.b64encode(content).decode()) == content


@pytest.mark.case(48)
@pytest.mark.parametrize(
    "text", ["-_-_", "AB==", "AA=", "A", "AA==\n", " AA==", "AA==AA==", "A!A=", "é", "\ud800"]
)
def test_any_other_spelling_is_none(text: str) -> None:
    assert canonical_base64(text) is None


@given(st.text())
def test_two_texts_never_give_the_same_bytes(text: str) -> None:
    found = canonical_base64(text)
    assert found is None or base64.b64encode(found).decode() == text


def test_the_first_key_that_matches_is_told_and_only_so_many_candidates_are_tried() -> None:
    keys = [b"a", b"b"]
    assert matching_key(keys, [b"b"], lambda key: key) == 1
    assert matching_key(keys, [b"c"], lambda key: key) is None
    assert matching_key(keys, [*[b"c"] * (MOST_CANDIDATES - 1), b"a"], lambda key: key) == 0
    assert matching_key(keys, [*[b"c"] * MOST_CANDIDATES, b"a"], lambda key: key) is None
    assert matching_key([], [b"a"], lambda key: key) is None


def test_a_secret_of_sixteen_bytes_is_long_enough() -> None:
    assert text_key("é" * 8) == ("é" * 8).encode()
    with pytest.raises(UnusableSecret, match="shorter than 16 bytes"):
        text_key("fifteen letters")


def test_another_kind_of_secret_is_known_by_its_beginning() -> None:
    refuse_kinds("abc", {"x": "a token"}, "the secret")
    with pytest.raises(UnusableSecret, match="it is a token; the secret is wanted"):
        refuse_kinds("xyz", {"x": "a token"}, "the secret")
