"""HMACs over raw bytes, and comparing them in constant time.

Candidates from a request are text that anyone may have written: they are compared as bytes, because
`hmac.compare_digest` raises TypeError for text beyond ASCII.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from shared.webhooks.base import UnusableSecret, Verified, WebhookRequest
from shared.webhooks.rejections import BadSignature

SHORTEST_SECRET = 16  # bytes
MOST_CANDIDATES = 10
"""So many signatures of one request are tried; rotation needs two."""


def text_key(secret: str) -> bytes:
    """The key of senders that sign with the secret's text as it is. Raises UnusableSecret."""
    key = secret.encode()
    if len(key) < SHORTEST_SECRET:
        raise UnusableSecret(f"it is shorter than {SHORTEST_SECRET} bytes")
    return key


def refuse_kinds(secret: str, kinds: Mapping[str, str], wanted: str) -> None:
    """Raises UnusableSecret for another kind of secret, known by how it begins."""
    for prefix, kind in kinds.items():
        if secret.startswith(prefix):
            raise UnusableSecret(f"it is {kind}; {wanted} is wanted")


def canonical_base64(text: str) -> bytes | None:
    """Standard base64 that has one spelling only, or None: the lax decoder drops foreign characters."""
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return decoded if base64.b64encode(decoded).decode() == text else None


def hmac_sha256(key: bytes, *parts: bytes) -> bytes:
    """The digest over `parts` in order, without copying them together."""
    mac = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        mac.update(part)
    return mac.digest()


def matching_key(
    keys: Sequence[bytes], candidates: Iterable[bytes], sign: Callable[[bytes], bytes]
) -> int | None:
    """The index of the first key whose signature is among the candidates."""
    tried = list(candidates)[:MOST_CANDIDATES]
    for index, key in enumerate(keys):
        expected = sign(key)
        if any(hmac.compare_digest(expected, candidate) for candidate in tried):
            return index
    return None


_PREFIXED_HEX = re.compile(r"sha256=[0-9a-f]{64}", re.ASCII)


def verify_prefixed_hex(request: WebhookRequest, header: str, keys: Sequence[bytes]) -> Verified:
    """GitHub's and Meta's form: `sha256=` and the HMAC-SHA256 of the body in lower-case hex.

    Raises BadSignature.
    """
    found = request.headers.get(header.lower(), "")
    if not found:
        raise BadSignature(f"{header} is missing. Set a secret on the webhook.")
    if not _PREFIXED_HEX.fullmatch(found):
        raise BadSignature(f"{header} is not `sha256=` and 64 lower-case hex digits.")
    given = found.removeprefix("sha256=").encode()
    index = matching_key(keys, [given], lambda key: hmac_sha256(key, request.body).hex().encode())
    if index is None:
        raise BadSignature(f"{header} does not match the body. Compare the secrets on both sides.")
    return Verified(secret_index=index)
