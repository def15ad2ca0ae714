"""The circuit breaker of one provider: pure rules over a small record that all workers share.

Closed: calls pass, failures in a row are counted. Open: nobody calls until `open_until`. Then half-open: one
call at a time, under a short lease, tries the provider out; its success closes, its failure opens for longer.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from shared.calls.failures import CallFailed, FailureKind
from shared.pipeline.policies import BreakerPolicy

LONGEST_REST = timedelta(hours=1)
"""However far away a provider's `Retry-After` is: an absurd one must not stop everything for days."""
_SHORTEST_SPREAD = timedelta(seconds=2)
_LONGEST_SPREAD = timedelta(minutes=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """`rests` counts the rests one after the other, `probe` is the token of the call that tries out."""

    failures: int = 0
    rests: int = 0
    open_until: datetime | None = None
    probe: str | None = None
    probe_until: datetime | None = None


CLOSED = Breaker()


@dataclass(frozen=True, slots=True)
class Pass:
    """The call may be made."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The call may be made once `breaker` is written: it tries the provider out."""

    breaker: Breaker


@dataclass(frozen=True, slots=True)
class Hold:
    """Nobody may call before `until`."""

    until: datetime


def admit(breaker: Breaker, now: datetime, *, token: str, lease: timedelta) -> Pass | Probe | Hold:
    """Whether a call may be made now; as a probe it holds the breaker under `token` for `lease`."""
    if breaker.open_until is None:
        return Pass()
    if now < breaker.open_until:
        return Hold(breaker.open_until)
    if breaker.probe_until is not None and now < breaker.probe_until:
        return Hold(breaker.probe_until)
    return Probe(replace(breaker, probe=token, probe_until=now + lease))


def after_success(breaker: Breaker, probe: str | None) -> Breaker:
    """The provider answered. While it rests only the probe's answer counts, others began before."""
    if breaker.open_until is None or _is_probe(breaker, probe):
        return CLOSED
    return breaker


def after_failure(
    breaker: Breaker, failure: CallFailed, now: datetime, policy: BreakerPolicy, probe: str | None
) -> Breaker:
    """The breaker after `failure`, which speaks of the provider's health.

    A 429 that says when to return rests until then at once; every rest is at least as long as that.
    """
    floor = min(failure.retry_after or timedelta(), LONGEST_REST)
    asked = now + floor if failure.kind is FailureKind.THROTTLED and floor > timedelta() else None
    if breaker.open_until is not None:
        if _is_probe(breaker, probe):
            return _opened(breaker.rests + 1, floor, now, policy)
        later = asked is not None and asked > breaker.open_until
        return replace(breaker, open_until=asked) if later else breaker
    if asked is not None:
        return Breaker(open_until=asked)
    failures = breaker.failures + 1
    if failures < policy.failures:
        return replace(breaker, failures=failures)
    return _opened(1, floor, now, policy)


def without_probe(breaker: Breaker, probe: str) -> Breaker:
    """The breaker after a probe that ended without telling anything: another may try."""
    return replace(breaker, probe=None, probe_until=None) if _is_probe(breaker, probe) else breaker


def wake_up(
    breaker: Breaker, until: datetime, now: datetime, policy: BreakerPolicy, fraction: float
) -> datetime:
    """When one of many waiting jobs should look again, `fraction` in [0, 1) being chance.

    They are spread over half a rest, so that they neither rush in together when it ends nor wait another
    whole one. Of a probe nobody knows how soon it ends, so that is looked after sooner than its lease.
    """
    rest = policy.rest.delay(max(breaker.rests - 1, 0))
    if breaker.open_until is not None and breaker.open_until <= now:
        until = min(until, now + policy.rest.base)
    spread = min(max(rest / 2, _SHORTEST_SPREAD), _LONGEST_SPREAD)
    return until + spread * fraction


def _opened(rests: int, floor: timedelta, now: datetime, policy: BreakerPolicy) -> Breaker:
    return Breaker(rests=rests, open_until=now + max(policy.rest.delay(rests - 1), floor))


def _is_probe(breaker: Breaker, probe: str | None) -> bool:
    return probe is not None and breaker.probe == probe
