"""Ed25519 signatures (RFC 8032). The library is imported when a source first needs it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_SIGN_BIT = 1 << 255
_SMALL_ORDER = frozenset(
    int.from_bytes(bytes.fromhex(point), "little")
    for point in (
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    )
)
"""Points whose eightfold is zero, without the sign bit: under them anyone can sign (RFC 8032, 8.4), as
under an HMAC key that is empty. A key of zeros, left in a template, is one."""


class PublicKey(bytes):
    """A public key, told apart by its type from the HMAC keys beside it."""

    __slots__ = ()


def is_usable(key: bytes) -> bool:
    """Whether `key` is a public key of this curve, and one that only its owner can sign for."""
    try:
        _loaded(key)
    except ValueError:
        return False
    return True


def is_signed(key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether `signature` is that of `message` by the owner of `key`."""
    from cryptography.exceptions import InvalidSignature

    try:
        _loaded(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _loaded(key: bytes) -> "Ed25519PublicKey":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if int.from_bytes(key, "little") & ~_SIGN_BIT in _SMALL_ORDER:
        raise ValueError("the key is a point of small order")
    return Ed25519PublicKey.from_public_bytes(key)
