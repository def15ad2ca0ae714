"""Read what `@app.retry` was given, as the Python worker does.

Source: `build_retry_protos` in `loader.py` of the PyPI package azure-functions-runtime.
"""

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from devhost.functions.retry import RetryPolicy

STRATEGIES = frozenset({"exponential_backoff", "fixed_delay"})
_FORM = "%H:%M:%S"
_NO_MAXIMUM = timedelta(seconds=2**31 - 1)


def retry_policy_of(settings: Mapping[str, Any] | None) -> RetryPolicy | None:
    """The policy, None without one. Raises TypeError or ValueError for one that cannot be read."""
    if not settings:
        return None
    count: Any = settings.get("max_retry_count")
    limit, strategy = int(count), settings.get("strategy")
    if strategy == "fixed_delay":
        fixed = _interval(settings.get("delay_interval"))
        return RetryPolicy(limit, fixed, fixed)
    least, most = settings.get("minimum_interval"), settings.get("maximum_interval")
    policy = RetryPolicy(
        limit, _interval(least) if least else timedelta(0), _interval(most) if most else _NO_MAXIMUM
    )
    check_strategy(strategy)
    return policy


def check_strategy(strategy: object) -> None:
    """Raises ValueError, in protobuf's words, for a strategy that the protocol does not have."""
    if strategy not in STRATEGIES:
        raise ValueError(f'unknown enum label "{strategy}"')


def _interval(given: Any) -> timedelta:
    read = time.strptime(given, _FORM)
    return timedelta(hours=read.tm_hour, minutes=read.tm_min, seconds=read.tm_sec)
