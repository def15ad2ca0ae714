"""The host's memory while the largest bodies that any sender sends come in."""

import time
from collections.abc import Callable

from devhost.bench.effort import MIB, Effort
from devhost.bench.figures import Figure
from devhost.bench.http_load import Request, send
from devhost.bench.large_requests import KINDS, PLAIN, Kind, request
from devhost.bench.processes import peak_bytes, reset_peak, resident_bytes
from devhost.stack import Part, Stack

_OVERLOADED = 503


def run(stack: Stack, effort: Effort) -> list[Figure]:
    """One such body of each kind, then many at once; nothing where the system does not tell a peak."""
    if peak_bytes(stack.pid(Part.HOST)) is None:
        return []
    size, many, rest = effort.large_bytes, effort.large_at_once, effort.rest_seconds
    figures = [_alone(stack, kind, size, rest) for kind in KINDS]
    body = _ready(stack, PLAIN, size)
    together, taken = _growth(stack, body, many, rest, {PLAIN.status, _OVERLOADED})
    note = f"{together / MIB:.0f} MiB, {taken}"
    return [*figures, Figure(f"peak over {many} at once", together / size, "times one", note)]


def _alone(stack: Stack, kind: Kind, size: int, rest: float) -> Figure:
    body = _ready(stack, kind, size)
    grown, _ = _growth(stack, body, 1, rest, {kind.status})
    note = f"{len(body.body) / MIB:.1f} MiB, and {grown / MIB:.0f} MiB at the most"
    return Figure(f"peak over {kind.name}", grown / len(body.body), "times it", note)


def _ready(stack: Stack, kind: Kind, size: int) -> Request:
    """A host that has loaded everything and keeps nothing of earlier bodies, and the body for it."""
    stack.restart(Part.HOST)
    secret = stack.secrets["github"]
    for small in (request(kind, 1024, secret), request(kind, size // 50, secret)):
        send(stack.url, 1, 1, _always(small))
    return request(kind, size, secret)


def _growth(stack: Stack, body: Request, count: int, rest: float, wanted: set[int]) -> tuple[int, str]:
    """By how many bytes the peak was above what the host held before, and how many requests were taken."""
    pid = stack.pid(Part.HOST)
    time.sleep(rest)
    reset_peak(pid)
    before = resident_bytes(pid) or 0
    load = send(stack.url, count, count, _always(body))
    if not set(load.statuses) <= wanted or stack.pid(Part.HOST) != pid:
        raise RuntimeError(f"The host did not hold out: {dict(load.statuses)}")
    refused = load.statuses.get(_OVERLOADED, 0)
    return max(0, (peak_bytes(pid) or 0) - before), f"{count - refused} taken, {refused} refused"


def _always(sent: Request) -> Callable[[int], Request]:
    return lambda _number: sent
