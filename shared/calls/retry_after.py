"""`Retry-After` (RFC 9110, 10.2.3), read from any provider's answer."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

LONGEST = timedelta(days=1)
_LONGEST_TEXT = 40


def retry_after(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """How long to wait, as seconds or until a date; None if nothing readable is said. At most a day.

    `headers` is read with lower-case names; `retry-after-ms` is OpenAI's finer form.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return _bounded(milliseconds / 1000)
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is None and text is not None:
        seconds = _until(text, now)
    return None if seconds is None else _bounded(seconds)


def _number(text: str | None) -> float | None:
    if text is None or len(text) > _LONGEST_TEXT:
        return None
    whole, _, fraction = text.strip().partition(".")
    digits = whole + fraction
    if not (whole and digits.isascii() and digits.isdigit()):
        return None
    return float(f"{whole}.{fraction or 0}")


def _until(text: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(text[:_LONGEST_TEXT])
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max((moment - now).total_seconds(), 0.0)


def _bounded(seconds: float) -> timedelta:
    return min(timedelta(seconds=min(seconds, LONGEST.total_seconds())), LONGEST)
