"""Shared access signatures and what they open.

Format: https://learn.microsoft.com/rest/api/eventhub/generate-sas-token (the same for Service Bus).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from urllib.parse import parse_qs, quote_plus

from devhost.servicebus.addresses import entity_path
from devhost.servicebus.faults import UNAUTHORIZED, FaultError

_PREFIX = "SharedAccessSignature "


@dataclass(frozen=True, slots=True)
class SharedKey:
    """The one key this broker accepts."""

    name: str
    key: str

    def __repr__(self) -> str:
        return f"SharedKey(name={self.name!r})"


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave to use everything at and below `path` ('' is the whole namespace) until `expires` (epoch s)."""

    path: str
    expires: float

    def covers(self, path: str, now: float) -> bool:
        """Whether this opens the entity at `path`; names compare without regard to case."""
        if now >= self.expires:
            return False
        mine, asked = self.path.lower(), path.lower()
        return not mine or asked == mine or asked.startswith(f"{mine}/")


def check_token(token: str, audience: str, key: SharedKey, now: float) -> Grant:
    """What a token grants. Raises `FaultError` that says why it is refused, without repeating the token."""
    if not token.startswith(_PREFIX):
        raise FaultError(UNAUTHORIZED, "Only shared access signatures are accepted here.")
    fields = parse_qs(token.removeprefix(_PREFIX), keep_blank_values=True)
    resource, signature, expiry, name = (fields.get(part, [""])[0] for part in ("sr", "sig", "se", "skn"))
    if name != key.name:
        raise FaultError(UNAUTHORIZED, "The token's key name is not known here.")
    if not expiry.isascii() or not expiry.isdigit() or len(expiry) > 12:
        raise FaultError(UNAUTHORIZED, "The token's expiry (se) is not a number of seconds.")
    signed = f"{quote_plus(resource)}\n{expiry}".encode()
    wanted = base64.b64encode(hmac.digest(key.key.encode(), signed, hashlib.sha256)).decode()
    if not hmac.compare_digest(wanted.encode(), signature.encode()):
        raise FaultError(UNAUTHORIZED, "The token's signature does not match the key.")
    if float(expiry) <= now:
        raise FaultError(UNAUTHORIZED, "The token has expired.")
    grant = Grant(entity_path(resource), float(expiry))
    if not grant.covers(entity_path(audience), now):
        raise FaultError(UNAUTHORIZED, "The token was made for another entity.")
    return grant
