"""How many may start in a minute: a token bucket in the form of one time, so that it can be looked ahead.

The generic cell rate algorithm (ITU-T I.371): after a quiet minute a whole minute's number may start at
once, then one every interval. Whoever comes too early is told exactly when it may.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_MINUTE = timedelta(minutes=1)
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """The bucket is full again at `full_at`; whoever asked last, at `asked`, may start at `next_start`."""

    full_at: datetime = _NEVER
    next_start: datetime = _NEVER
    asked: datetime = _NEVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place in the line: who asked then may start at `start`."""

    start: datetime
    asked: datetime


def metered(meter: Meter, now: datetime, per_minute: int) -> Meter:
    """The meter with one more start, at `next_start`: now, or later if too many came before."""
    interval = _MINUTE / per_minute
    start = max(now, meter.full_at - (_MINUTE - interval))
    return Meter(full_at=max(meter.full_at, now) + interval, next_start=start, asked=now)


def lined_up(meter: Meter, now: datetime, spacing: timedelta) -> Meter:
    """The meter with one more look given a time: one every `spacing`, the first after one `spacing`."""
    start = max(now, meter.next_start) + spacing
    return Meter(full_at=start, next_start=start, asked=now)
