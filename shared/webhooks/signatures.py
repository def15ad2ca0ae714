"""HMACs over raw bytes, and comparing them in constant time.

Candidates from a request are text that anyone may have written: they are compared as bytes, because
`hmac.compare_digest` raises TypeError for text beyond ASCII.
"""

import hashlib
import hmac
from collections.abc import Callable, Iterable, Sequence

from shared.webhooks.base import UnusableSecret

SHORTEST_SECRET = 16  # bytes
LONGEST_CANDIDATE_LIST = 10
"""So many signatures of one request are tried; rotation needs two."""


def text_key(secret: str) -> bytes:
    """The key of senders that sign with the secret's text as it is. Raises UnusableSecret."""
    key = secret.encode()
    if len(key) < SHORTEST_SECRET:
        raise UnusableSecret(f"it is shorter than {SHORTEST_SECRET} bytes")
    return key


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
    tried = list(candidates)[:LONGEST_CANDIDATE_LIST]
    for index, key in enumerate(keys):
        expected = sign(key)
        if any(hmac.compare_digest(expected, candidate) for candidate in tried):
            return index
    return None
