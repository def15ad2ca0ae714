"""Read what `@app.retry` was given, as the Python worker does.

Source: `build_retry_protos` in `loader.py` of the PyPI package azure-functions-runtime.
"""

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from devhost.functions.errors import FunctionLoadError
from devhost.functions.retry import FOR_EVER, RetryPolicy

_FORM = "%H:%M:%S"
_NO_MAXIMUM = timedelta(seconds=2**31 - 1)


def retry_policy_of(function: str, settings: Mapping[str, Any] | None) -> RetryPolicy | None:
    """The policy, None without one. Raises FunctionLoadError for one that cannot be read."""
    if not settings:
        return None
    count = str(settings.get("max_retry_count"))
    if not count.removeprefix("-").isdecimal() or int(count) < FOR_EVER:
        raise FunctionLoadError(
            function, f"retry: max_retry_count: expected a whole number, -1 for no limit; found {count!r}"
        )
    match settings.get("strategy"):
        case "fixed_delay":
            fixed = _interval(function, settings, "delay_interval", None)
            return RetryPolicy(int(count), fixed, fixed)
        case "exponential_backoff":
            minimum = _interval(function, settings, "minimum_interval", timedelta(0))
            maximum = _interval(function, settings, "maximum_interval", _NO_MAXIMUM)
            if minimum > maximum:
                raise FunctionLoadError(function, "retry: minimum_interval is longer than maximum_interval")
            return RetryPolicy(int(count), minimum, maximum)
        case strategy:
            raise FunctionLoadError(
                function, f"retry: strategy: fixed_delay or exponential_backoff, not {strategy!r}"
            )


def _interval(function: str, settings: Mapping[str, Any], name: str, default: timedelta | None) -> timedelta:
    given = settings.get(name)
    if not given and default is not None:
        return default
    try:
        read = time.strptime(str(given), _FORM)
    except ValueError:
        raise FunctionLoadError(function, f"retry: {name}: expected HH:MM:SS, found {given!r}") from None
    return timedelta(hours=read.tm_hour, minutes=read.tm_min, seconds=read.tm_sec)
