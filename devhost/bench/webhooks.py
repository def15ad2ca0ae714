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
    return [
        *_answer_times(idle, ignored, accepted),
        Figure(
            f"webhooks accepted, {effort.at_once} at a time", effort.requests / together.seconds, "per second"
        ),
        *_cpu(stack, {"nothing": idle, "ignored webhook": ignored, "accepted webhook": accepted}),
    ]


def _answer_times(idle: _Case, ignored: _Case, accepted: _Case) -> list[Figure]:
    base, verified, stored = (median(case.milliseconds) for case in (idle, ignored, accepted))
    slowest = percentile(accepted.milliseconds, 0.99)
    note = f"{len(idle.milliseconds)} one after the other"
    return [
        Figure("do-nothing function, median answer", base, "ms", note),
        Figure("webhook of 3 KiB no route wants, median", verified, "ms", "verified"),
        Figure("ignored webhook over do-nothing function", verified / base, "times"),
        Figure("webhook of 3 KiB accepted, median", stored, "ms", "stored and queued"),
        Figure("accepted webhook over do-nothing function", stored / base, "times"),
        Figure("webhook accepted, 99 of 100 within", slowest, "ms"),
    ]


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
