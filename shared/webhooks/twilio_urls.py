"""The spellings of a public URL that Twilio may have signed: few, fixed, and never from a header."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

_STANDARD = {"https": 443, "http": 80}
_ESCAPES = (("%27", "'"), ("%40", "@"), ("%3A", ":"), ("%3a", ":"))
"""Twilio signs the query as it was written and sends these characters escaped."""


def _public_url(value: str) -> str:
    expected = "an address such as https://hooks.example.com/api/webhooks/twilio, without a query"
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise ValueError(expected) from None
    plain = not (parts.query or parts.fragment or parts.username or parts.password)
    if parts.scheme not in _STANDARD or not parts.hostname or not plain or port == 0 or not value.isascii():
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
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.netloc.rpartition(":")[0]
    if parts.port is None:
        return [url, parts._replace(netloc=f"{parts.netloc}:{standard}").geturl()]
    return [url, parts._replace(netloc=host).geturl()] if parts.port == standard else [url]
