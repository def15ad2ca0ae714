"""How long to wait before the next attempt: a pure rule. Randomness is the caller's, as a fraction."""

from dataclasses import dataclass
from datetime import timedelta

LONGEST_DELAY = timedelta(days=366)
"""Beyond any deadline; keeps arithmetic with absurd `Retry-After` values within what times can hold."""


@dataclass(frozen=True, slots=True)
class BackoffList:
    """One delay for each retry; the last repeats."""

    delays: tuple[timedelta, ...]

    def delay(self, next_attempt: int) -> timedelta:
        return self.delays[min(next_attempt, len(self.delays)) - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoffCurve:
    """base * factor ** attempt, at most cap: 5 s, 2 and 5 min give 10, 20, 40, ... 300 s."""

    base: timedelta
    factor: float
    cap: timedelta

    def delay(self, next_attempt: int) -> timedelta:
        try:
            seconds = self.base.total_seconds() * self.factor**next_attempt
        except OverflowError:
            return self.cap
        return timedelta(seconds=min(seconds, self.cap.total_seconds()))


Backoff = BackoffList | BackoffCurve


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """`attempts` counts every run, the first too; `deadline` counts from the release's start.

    `jitter` is the largest share of the delay that chance may add.
    """

    attempts: int
    deadline: timedelta
    backoff: Backoff
    jitter: float


def delay_before(
    policy: RetryPolicy, next_attempt: int, fraction: float, retry_after: timedelta | None = None
) -> timedelta:
    """The delay before attempt `next_attempt` (1 = the first retry), with `fraction` in [0, 1) as chance.

    Never below `retry_after`: jitter only adds, so that callers told the same time do not return together.
    """
    if next_attempt < 1:
        raise ValueError(f"The first retry is attempt 1; got {next_attempt}.")
    delay = policy.backoff.delay(next_attempt)
    if retry_after is not None:
        delay = max(delay, retry_after)
    delay = min(delay, LONGEST_DELAY)
    return delay + spread(delay, policy.jitter, fraction)


def spread(delay: timedelta, jitter: float, fraction: float) -> timedelta:
    """What chance adds to `delay`: at most `jitter` of it, with `fraction` in [0, 1)."""
    return delay * (jitter * fraction)
