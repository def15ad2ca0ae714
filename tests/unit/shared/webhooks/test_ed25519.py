"""Ed25519: RFC 8032's own examples, and keys under which anyone can sign."""

import pytest

from shared.webhooks.ed25519 import is_signed, is_usable

# https://www.rfc-editor.org/rfc/rfc8032#section-7.1 (tests 1 to 3): public key, message, signature
VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
            "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
            "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
    ),
]
FIELD = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
SIGN_BIT = 1 << 255
EIGHTH = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
)
SMALL = [0, 1, FIELD - 1, FIELD, FIELD + 1, EIGHTH, FIELD - EIGHTH]


def encoded(number: int) -> bytes:
    return number.to_bytes(32, "little")


@pytest.mark.parametrize(("key", "message", "signature"), VECTORS)
def test_the_published_examples_verify(key: str, message: str, signature: str) -> None:
    known, text, signed = (bytes.fromhex(part) for part in (key, message, signature))
    assert is_usable(known)
    assert is_signed(known, signed, text)
    assert not is_signed(known, signed, text + b"\x00")


def test_a_signature_with_another_spelling_of_its_number_is_refused() -> None:
    key, message, signature = (bytes.fromhex(part) for part in VECTORS[1])
    number = int.from_bytes(signature[32:], "little") + ORDER
    assert not is_signed(key, signature[:32] + encoded(number), message)


@pytest.mark.parametrize("number", SMALL)
@pytest.mark.parametrize("sign", [0, SIGN_BIT])
def test_a_key_of_small_order_is_never_used(number: int, sign: int) -> None:
    key = encoded(number | sign)
    assert not is_usable(key)
    assert not is_signed(key, encoded(1) + encoded(0), b"whatever was never signed")


@pytest.mark.parametrize("key", [b"", b"x" * 31, b"x" * 33])
@pytest.mark.parametrize("signature", [b"", b"x" * 63, b"x" * 64, b"x" * 65])
def test_keys_and_signatures_of_other_lengths_are_refused(key: bytes, signature: bytes) -> None:
    assert not is_usable(key)
    assert not is_signed(key, signature, b"")
    assert not is_signed(bytes.fromhex(VECTORS[0][0]), signature, b"")
