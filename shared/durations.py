"""Durations such as `90s` or `1h30m`, and the platform's `hh:mm:ss`."""

import re
from datetime import timedelta

EXPECTED = 'a duration such as "90s" or "2m"'

_UNITS = re.compile(
    r"(?=\d)(?:(?P<days>\d{1,5})d)?(?:(?P<hours>\d{1,6})h)?(?:(?P<minutes>\d{1,7})m(?!s))?"
    r"(?:(?P<seconds>\d{1,9})s)?(?:(?P<milliseconds>\d{1,9})ms)?",
    re.ASCII,
)
_SPAN = re.compile(r"(?:(\d{1,5})\.)?(\d{1,2}):(\d{2}):(\d{2})(?:\.\d{1,7})?", re.ASCII)


def parse_duration(text: str) -> timedelta:
    """`90s`, `2m`, `1h30m`, `24h`, `1d`, `500ms`; larger units first. Raises ValueError."""
    found = _UNITS.fullmatch(text)
    if found is None:
        raise ValueError(f"expected {EXPECTED}")
    return timedelta(**{unit: int(count) for unit, count in found.groupdict().items() if count})


def format_duration(duration: timedelta) -> str:
    """The shortest form that `parse_duration` reads back (to the millisecond)."""
    left = round(duration.total_seconds() * 1000)
    text = ""
    for size, unit in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")):
        count, left = divmod(left, size)
        text += f"{count}{unit}" if count else ""
    return text or "0s"


def parse_time_span(text: str) -> timedelta | None:
    """A .NET time span `[d.]hh:mm:ss`; None for a negative one, which the platform takes as unlimited.

    Raises ValueError. Source: host.json reference, `functionTimeout`
    (https://learn.microsoft.com/azure/azure-functions/functions-host-json).
    """
    if text.startswith("-"):
        return None
    found = _SPAN.fullmatch(text)
    if found is None:
        raise ValueError('expected a time span such as "00:30:00"')
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
