"""How a source of the generic HMAC scheme describes its sender in pipeline.toml."""

import re
from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, model_validator

from shared.pipeline.values import Expression, HeaderName, quoted
from shared.webhooks.base import Options

PLACE = re.compile(r"\{(timestamp|id|body)\}")
_LONGEST_TEXT = 64
_LONGEST_TEMPLATE = 200
_ADJOINING = re.compile(r"\{(\w+)\}(?=\{(\w+)\})", re.ASCII)
_TOLD_APART = frozenset({("timestamp", "body"), ("body", "timestamp"), ("id", "timestamp")})
"""Places that need nothing between them, as with Twitch's `{id}{timestamp}{body}`.

A body is an object in braces and a time is near to ours, so only one cut gives both. Others could be cut in
several ways under one signature: `12` and `3` are also `1` and `23`, another time or another id. And an id
can begin with anything, also with what could end a time (`+01` and `:00`).
"""


def _prefix(value: str) -> str:
    if len(value) > _LONGEST_TEXT:
        raise ValueError(f"a text of at most {_LONGEST_TEXT} characters")
    return value


def _template(value: str) -> str:
    places = PLACE.findall(value)
    rest = PLACE.sub("", value)
    once = places.count("body") == 1 and len(set(places)) == len(places)
    if not once or "{" in rest or "}" in rest or len(value) > _LONGEST_TEMPLATE:
        raise ValueError("a text with {body} once, and at most once {timestamp} and {id}")
    for first, second in _ADJOINING.findall(value):
        if (first, second) not in _TOLD_APART:
            pair = f"{{{first}}} and {{{second}}}, as in {{{first}}}.{{{second}}}"
            raise ValueError(
                f"something between {pair}: one signature would stand for every way to part them"
            )
    return value


def _one_of(*names: str) -> Callable[[object], str]:
    def check(value: object) -> str:
        if value not in names:
            raise ValueError(f"one of {quoted(names)}")
        return str(value)

    return check


Algorithm = Annotated[str, BeforeValidator(_one_of("sha256", "sha512", "sha1"))]
Encoding = Annotated[str, BeforeValidator(_one_of("hex", "base64"))]
KeyEncoding = Annotated[str, BeforeValidator(_one_of("text", "base64", "hex"))]
TimestampFormat = Annotated[str, BeforeValidator(_one_of("seconds", "milliseconds", "iso8601"))]


class HmacOptions(Options):
    """`signed` is what is signed; what it names must have its header. Without `id` the body is the id.

    Its places have something between them, but for those that can be told apart without.

    Without `timestamp_format` the time is in seconds since 1970.
    """

    header: HeaderName
    prefix: Annotated[str, AfterValidator(_prefix)] = ""
    algorithm: Algorithm = "sha256"
    encoding: Encoding = "hex"
    key_encoding: KeyEncoding = "text"
    signed: Annotated[str, AfterValidator(_template)] = "{body}"
    timestamp_header: HeaderName | None = None
    timestamp_format: TimestampFormat | None = None
    id_header: HeaderName | None = None
    type_header: HeaderName | None = None
    id: Expression | None = None
    type: Expression | None = None
    account: Expression | None = None
    time: Expression | None = None

    @model_validator(mode="after")
    def _complete(self) -> "HmacOptions":
        for place, header in (("timestamp", self.timestamp_header), ("id", self.id_header)):
            if f"{{{place}}}" in self.signed and header is None:
                raise ValueError(f'"{place}_header", as "signed" names {{{place}}}')
        if self.timestamp_header is not None and "{timestamp}" not in self.signed:
            raise ValueError('"signed" with {timestamp}: a time that is not signed proves nothing')
        if self.timestamp_format is not None and self.timestamp_header is None:
            raise ValueError('"timestamp_header" beside "timestamp_format"')
        if self.type is not None and self.type_header is not None:
            raise ValueError('"type" or "type_header", not both')
        return self
