"""Addresses of published keys: HTTPS, from the configuration only."""

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_PLAIN = re.compile(r"https?://[A-Za-z0-9.:\[\]_-]+(?:[/?][!-~]*)?", re.ASCII)


def _key_address(value: str) -> str:
    expected = "an https address"
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError:
        raise ValueError(expected) from None
    secure = parts.scheme == "https" or parts.hostname in _LOOPBACK
    if not secure or not parts.hostname or not _PLAIN.fullmatch(value) or parts.fragment:
        raise ValueError(expected)
    return value


KeyAddress = Annotated[str, AfterValidator(_key_address)]
"""Plain http is for an issuer on this machine, as tests have."""
