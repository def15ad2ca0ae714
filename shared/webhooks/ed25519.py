"""Ed25519 signatures (RFC 8032). The library is imported when a source first needs it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

PUBLIC_KEY_BYTES = 32
SIGNATURE_BYTES = 64


class PublicKey(bytes):
    """A public key, told apart by its type from the HMAC keys beside it."""

    __slots__ = ()


def is_usable(key: bytes) -> bool:
    """Whether `key` is a public key of this curve."""
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

    return Ed25519PublicKey.from_public_bytes(key)
