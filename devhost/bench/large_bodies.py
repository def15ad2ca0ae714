"""The host's memory while the largest bodies that any sender sends come in."""

import time

from devhost.bench.effort import MIB, Effort
from devhost.bench.figures import Figure
from devhost.bench.http_load import send
from devhost.bench.processes import peak_bytes, reset_peak, resident_bytes
from devhost.bench.requests import large_webhook
from devhost.stack import Part, Stack

_TAKEN_OR_REFUSED = {200, 503}


def run(stack: Stack, effort: Effort) -> list[Figure]:
    """One such body, then many at once; nothing where the system does not tell a peak."""
    if peak_bytes(stack.pid(Part.HOST)) is None:
        return []
    size, many, rest = effort.large_bytes, effort.large_at_once, effort.rest_seconds
    _growth(stack, size // 100, 1, rest)  # the application is built by the first request
    alone, _ = _growth(stack, size, 1, rest)
    together, taken = _growth(stack, size, many, rest)
    what = f"{size / MIB:.0f} MiB"
    return [
        Figure(f"peak over one body of {what}", alone / size, "times it", f"{alone / MIB:.0f} MiB"),
        Figure(
            f"peak over {many} at once", together / size, "times one", f"{together / MIB:.0f} MiB, {taken}"
        ),
    ]


def _growth(stack: Stack, size: int, count: int, rest: float) -> tuple[int, str]:
    """By how many bytes the peak was above what the host held before, and how many requests were taken."""
    pid = stack.pid(Part.HOST)
    time.sleep(rest)
    reset_peak(pid)
    before = resident_bytes(pid) or 0
    load = send(stack.url, count, count, large_webhook(stack, size))
    if not set(load.statuses) <= _TAKEN_OR_REFUSED or stack.pid(Part.HOST) != pid:
        raise RuntimeError(f"The host did not hold out: {dict(load.statuses)}")
    taken = f"{load.statuses.get(200, 0)} taken, {load.statuses.get(503, 0)} refused"
    return max(0, (peak_bytes(pid) or 0) - before), taken
