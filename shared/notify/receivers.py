"""How each receiver fares, as this process sees it: a slow one gets few posts at once, a dead one rests.

Kept in memory: what it forgets costs a few posts that are tried in vain, and never an announcement.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.retry import BackoffCurve

AT_ONCE = 4
FAILURES = 3
REST = BackoffCurve(base=timedelta(seconds=15), factor=2, cap=timedelta(minutes=5))


@dataclass(frozen=True, slots=True)
class Free:
    """A post may begin; `left` must follow."""


@dataclass(frozen=True, slots=True)
class Busy:
    """Enough posts are on their way there."""


@dataclass(frozen=True, slots=True)
class Resting:
    """It failed several times in a row: nothing is sent until then, and one post tries it afterwards."""

    until: datetime


@dataclass(slots=True)
class _Receiver:
    posting: int = 0
    failures: int = 0  # in a row
    rests_until: datetime | None = None


class Receivers:
    """One entry for each source that is told of its jobs."""

    def __init__(self) -> None:
        self._known: dict[str, _Receiver] = {}

    def enter(self, source: str, now: datetime) -> Free | Busy | Resting:
        """Whether a post to the source's receiver may begin."""
        receiver = self._known.setdefault(source, _Receiver())
        if receiver.rests_until is not None and (now < receiver.rests_until or receiver.posting):
            return Resting(max(now, receiver.rests_until))
        if receiver.posting >= AT_ONCE:
            return Busy()
        receiver.posting += 1
        return Free()

    def left(self, source: str, now: datetime, *, well: bool) -> None:
        """A post ended; `well` when the receiver answered as one that works."""
        receiver = self._known.setdefault(source, _Receiver())
        receiver.posting = max(0, receiver.posting - 1)
        if well:
            receiver.failures, receiver.rests_until = 0, None
            return
        receiver.failures += 1
        if receiver.failures >= FAILURES:
            receiver.rests_until = now + REST.delay(receiver.failures - FAILURES)
