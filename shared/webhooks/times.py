"""Event times as senders write them. What cannot be read is no time, not an error: it decides nothing."""

import re
from datetime import UTC, datetime

_DIGITS = re.compile(r"[0-9]{1,11}", re.ASCII)


def unix_time(value: object) -> datetime | None:
    """Seconds since 1970, as a number or as digits."""
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def iso_time(value: object) -> datetime | None:
    """ISO 8601 with an offset."""
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else None
        return time.astimezone(UTC) if time and time.tzinfo else None
    except (ValueError, OverflowError):
        return None
