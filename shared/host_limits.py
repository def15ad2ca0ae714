"""The two times of host.json that bound an attempt."""

import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from shared.durations import format_duration, parse_time_span
from shared.problems import Problem, shown

DEFAULT_LOCK_RENEWAL = timedelta(minutes=5)
"""What the Service Bus extension takes when host.json says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLimits:
    """When the host ends an invocation, and how long it keeps a message's lock alive for it."""

    function_timeout: timedelta
    lock_renewal: timedelta


def read_host_limits(path: Path) -> tuple[HostLimits | None, list[Problem]]:
    """The limits in `path`, or what is wrong with it.

    The lock must outlive the function: otherwise the broker hands a message to a second worker while the
    first still runs (https://learn.microsoft.com/azure/azure-functions/functions-bindings-service-bus).
    """
    try:
        document = json.loads(path.read_bytes())
    except OSError:
        return None, [Problem("host.json", f"a file at {path}", "none that can be read")]
    except ValueError:
        return None, [Problem("host.json", "a JSON document", "something else")]
    problems: list[Problem] = []
    timeout = _span(document, ["functionTimeout"], None, problems)
    renewal_path = ["extensions", "serviceBus", "maxAutoLockRenewalDuration"]
    renewal = _span(document, renewal_path, DEFAULT_LOCK_RENEWAL, problems)
    if timeout is None or renewal is None:
        return None, problems
    if timeout >= renewal:
        where = f"host.json: {'.'.join(renewal_path)}"
        problems.append(
            Problem(
                where,
                f"more than functionTimeout ({format_duration(timeout)})",
                format_duration(renewal),
            )
        )
        return None, problems
    return HostLimits(function_timeout=timeout, lock_renewal=renewal), problems


def _span(
    document: Any, path: list[str], default: timedelta | None, problems: list[Problem]
) -> timedelta | None:
    value = document
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if value is None and default is not None:
        return default
    try:
        span = parse_time_span(value) if isinstance(value, str) else None
    except ValueError:
        span = None
    if span is None:
        found = "none" if value is None else shown(value)
        problems.append(Problem(f"host.json: {'.'.join(path)}", 'a limit such as "00:30:00"', found))
    return span
