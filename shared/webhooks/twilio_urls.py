"""The spellings of a public URL that Twilio may have signed: few, fixed, and never from a header."""

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

_STANDARD = {"https": 443, "http": 80}
_ESCAPES = (("%27", "'"), ("%40", "@"), ("%3A", ":"), ("%3a", ":"))
"""Twilio signs the query as it was written and sends these characters escaped."""
_PLAIN = re.compile(r"https?://[A-Za-z0-9.:\[\]_-]+(?:/[\x21\x24-\x3e\x40-\x7e]*)?", re.ASCII)
"""Without user, query and fragment: nothing that Twilio leaves out of what it signs."""


def _public_url(value: str) -> str:
    expected = "an address such as https://hooks.example.com/api/webhooks/twilio, without a query"
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise ValueError(expected) from None
    if not _PLAIN.fullmatch(value) or not parts.hostname or port == 0 or parts.netloc.endswith(":"):
        raise ValueError(expected)
    return value


PublicUrl = Annotated[str, AfterValidator(_public_url)]


def spellings(public_url: str, query: str) -> list[str]:
    """The URL with and without its standard port, each with the query as it came and unescaped."""
    unescaped = query
    for escape, character in _ESCAPES:
        unescaped = unescaped.replace(escape, character)
    queries = dict.fromkeys([query, unescaped])
    return [f"{url}?{text}" if text else url for url in _ports(public_url) for text in queries]


def _ports(url: str) -> list[str]:
    parts = urlsplit(url)
    standard = _STANDARD[parts.scheme]
    rest = url[len(parts.scheme) + len("://") + len(parts.netloc) :]
    if parts.port is None:
        return [url, f"{parts.scheme}://{parts.netloc}:{standard}{rest}"]
    if parts.port == standard:
        return [url, f"{parts.scheme}://{parts.netloc.rpartition(':')[0]}{rest}"]
    return [url]
