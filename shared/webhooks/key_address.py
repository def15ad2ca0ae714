"""Addresses of published keys: HTTPS, from the configuration only."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def _key_address(value: str) -> str:
    expected = "an https address"
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError:
        raise ValueError(expected) from None
    secure = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if not secure or not parts.hostname or parts.username or parts.password or not value.isascii():
        raise ValueError(expected)
    return value


KeyAddress = Annotated[str, AfterValidator(_key_address)]
"""Plain http is for an issuer on this machine, as tests have."""
