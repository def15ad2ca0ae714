"""The answer to a webhook beside a function that does nothing, in the same host and run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from devhost.bench.effort import Effort
from devhost.bench.figures import Figure, median, percentile
from devhost.bench.http_load import send
from devhost.bench.processes import cpu_seconds
from devhost.bench.requests import Make, nothing, webhook
from devhost.stack import Part, Stack

_ROUNDS = 5


@dataclass(slots=True)
class _Case:
    """One kind of request, the status it is answered with, and what was measured."""

    make: Make
    status: int
    milliseconds: list[float] = field(default_factory=list)
    cpu: float = 0.0


def run(stack: Stack, effort: Effort) -> list[Figure]:
    """In turns, so that a noisy moment meets all kinds; then some accepted at a time. No job runs beside."""
    idle = _Case(nothing, 202)
    ignored = _Case(webhook(stack, "other.created"), 200)
    accepted = _Case(webhook(stack, "note.created"), 202)
    cases = (idle, ignored, accepted)
    for case in cases:
        _answers(stack, case, effort.warm)
    each = -(-effort.requests // _ROUNDS)
    for _ in range(_ROUNDS):
        for case in cases:
            _measure(stack, case, each)
    together = send(stack.url, effort.requests, effort.at_once, accepted.make)
    _check(together.statuses, accepted.status)
    base = median(idle.milliseconds)
    rows = [
        Figure("do-nothing function, median answer", base, "ms", f"{each * _ROUNDS} one after the other"),
        Figure("webhook of 3 KiB no route wants, median", median(ignored.milliseconds), "ms", "verified"),
        Figure("the same, over doing nothing", median(ignored.milliseconds) / base, "times"),
        Figure("webhook of 3 KiB accepted, median", median(accepted.milliseconds), "ms", "stored and queued"),
        Figure("the same, over doing nothing", median(accepted.milliseconds) / base, "times"),
        Figure("webhook accepted, 99 of 100 within", percentile(accepted.milliseconds, 0.99), "ms"),
        Figure(
            f"webhooks accepted, {effort.at_once} at a time", effort.requests / together.seconds, "per second"
        ),
    ]
    return rows + _cpu(stack, {"nothing": idle, "ignored webhook": ignored, "accepted webhook": accepted})


def _cpu(stack: Stack, cases: dict[str, _Case]) -> list[Figure]:
    if cpu_seconds(stack.pid(Part.HOST)) is None:
        return []
    return [
        Figure(f"CPU of the host, {name}", case.cpu * 1000 / len(case.milliseconds), "ms each")
        for name, case in cases.items()
    ]


def _measure(stack: Stack, case: _Case, count: int) -> None:
    pid = stack.pid(Part.HOST)
    before = cpu_seconds(pid) or 0.0
    case.milliseconds += _answers(stack, case, count)
    case.cpu += (cpu_seconds(pid) or 0.0) - before


def _answers(stack: Stack, case: _Case, count: int) -> tuple[float, ...]:
    load = send(stack.url, count, 1, case.make)
    _check(load.statuses, case.status)
    return load.milliseconds


def _check(statuses: Mapping[int, int], wanted: int) -> None:
    if set(statuses) != {wanted}:
        raise RuntimeError(f"Not every request was answered {wanted}: {dict(statuses)}")
