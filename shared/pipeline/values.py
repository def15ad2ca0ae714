"""The kinds of values that pipeline.toml holds, as pydantic types.

Each validator's error text completes the sentence "expected ...".
"""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator

from shared import durations, sizes
from shared.pipeline.expressions import checked_expression

LONGEST_GLOB = 200
SOURCE_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}", re.ASCII)
SOURCE_NAME_EXPECTED = "a name of lower-case letters, digits and hyphens (at most 63)"
_SETTING = re.compile(r"[A-Z][A-Z0-9_]{0,127}", re.ASCII)
_PREFIX = re.compile(r"[a-z0-9-]{3,63}/(?:[^/\\\x00-\x1f]+/)*")
_CLOSED_SETS = re.compile(r"(?:[^\[]|\[!?.[^\]]*\])*", re.DOTALL)
_AMOUNT = re.compile(r"(\d{1,9})(?:\.(\d{1,6}))?", re.ASCII)
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}(?::\d{1,5})?", re.ASCII)
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
MICROS = 1_000_000
"""Millionths in one unit of the currency."""
_OURS = frozenset({"results", "protected"})


def quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _text(value: object, expected: str) -> str:
    if not isinstance(value, str):
        raise ValueError(expected)  # noqa: TRY004  pydantic reports ValueError as a problem
    return value


def _duration(least: timedelta, most: timedelta) -> Callable[[object], timedelta]:
    def parse(value: object) -> timedelta:
        try:
            duration = durations.parse_duration(_text(value, durations.EXPECTED))
        except ValueError:
            raise ValueError(durations.EXPECTED) from None
        if not least <= duration <= most:
            limits = f"{durations.format_duration(least)} to {durations.format_duration(most)}"
            raise ValueError(f"a duration from {limits}")
        return duration

    return parse


def _size(least: int, most: int) -> Callable[[object], int]:
    def parse(value: object) -> int:
        try:
            size = sizes.parse_size(_text(value, sizes.EXPECTED))
        except ValueError:
            raise ValueError(sizes.EXPECTED) from None
        if not least <= size <= most:
            raise ValueError(f"a size from {sizes.format_size(least)} to {sizes.format_size(most)}")
        return size

    return parse


def _setting_name(value: object) -> str:
    expected = (
        'the name of an app setting in capitals, such as "GITHUB_WEBHOOK_SECRET" (never a secret itself)'
    )
    if not _SETTING.fullmatch(_text(value, expected)):
        raise ValueError(expected)
    return str(value)


def _prefix(value: object) -> str:
    """Jobs must not reach results, protected storage, or the inputs of other jobs."""
    expected = 'a folder "container/folder/" ending with "/"'
    text = _text(value, expected)
    segments = text.split("/")
    if not _PREFIX.fullmatch(text) or {".", ".."} & set(segments):
        raise ValueError(expected)
    if segments[0] in _OURS or text == "inputs/" or text.startswith("inputs/job_"):
        raise ValueError("a folder that holds no other job's inputs, results or protected data")
    return text


def _glob(value: object) -> str:
    expected = f'a pattern of event types such as "issues.*" (at most {LONGEST_GLOB} characters)'
    text = _text(value, expected)
    if not 0 < len(text) <= LONGEST_GLOB or text != text.strip():
        raise ValueError(expected)
    if not _CLOSED_SETS.fullmatch(text):
        raise ValueError('a pattern whose "[" begins a set of characters that "]" ends')
    return text


def _header_name(value: str) -> str:
    if not _HEADER.fullmatch(value):
        raise ValueError('the name of a header, such as "X-Signature"')
    return value.lower()


def _money(value: object) -> int:
    """Millionths, so that sums are exact."""
    expected = 'an amount such as "2.50" (in the currency of all prices, at most six decimals)'
    found = _AMOUNT.fullmatch(_text(value, expected))
    if not found:
        raise ValueError(expected)
    return int(found[1]) * MICROS + int((found[2] or "").ljust(6, "0"))


def _host(value: object) -> str:
    expected = 'a host name such as "hooks.example.com", with a port if it has one'
    if not _HOST.fullmatch(_text(value, expected)):
        raise ValueError(expected)
    return str(value).lower()


def _web_address(value: object) -> str:
    expected = 'an address that begins with "https://" (http only to this machine), without user name'
    try:
        parts = urlsplit(_text(value, expected))
        port = parts.port
    except ValueError:
        raise ValueError(expected) from None
    local = parts.scheme == "http" and parts.hostname in LOOPBACK
    if not parts.hostname or port == 0 or not (parts.scheme == "https" or local) or "@" in parts.netloc:
        raise ValueError(expected)
    return str(value)


Expression = Annotated[str, AfterValidator(checked_expression)]
Glob = Annotated[str, BeforeValidator(_glob)]
Prefix = Annotated[str, BeforeValidator(_prefix)]
SettingName = Annotated[str, BeforeValidator(_setting_name)]
HeaderName = Annotated[str, AfterValidator(_header_name)]
"""In lower case, as requests have them."""
Host = Annotated[str, BeforeValidator(_host)]
WebAddress = Annotated[str, BeforeValidator(_web_address)]
Money = Annotated[int, BeforeValidator(_money)]

_SECOND = timedelta(seconds=1)
Tolerance = Annotated[timedelta, BeforeValidator(_duration(_SECOND, timedelta(days=1)))]
AttemptTimeout = Annotated[timedelta, BeforeValidator(_duration(_SECOND, timedelta(hours=10)))]
Deadline = Annotated[timedelta, BeforeValidator(_duration(_SECOND, timedelta(days=30)))]
Delay = Annotated[timedelta, BeforeValidator(_duration(timedelta(milliseconds=1), timedelta(days=7)))]
Retention = Annotated[timedelta, BeforeValidator(_duration(timedelta(hours=1), timedelta(days=3650)))]
BodySize = Annotated[int, BeforeValidator(_size(1, 25 * sizes.MIB))]
DocumentSize = Annotated[int, BeforeValidator(_size(1, 1024 * sizes.MIB))]
ResultSize = Annotated[int, BeforeValidator(_size(1, 64 * sizes.MIB))]
"""At most what a result may have (`shared.worker.results`)."""
