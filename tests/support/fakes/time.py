"""Time and chance under a test's control."""

import asyncio
import random
from datetime import UTC, datetime, timedelta

START = datetime(2026, 7, 27, 10, 15, tzinfo=UTC)


class FakeClock:
    """A clock that moves only when told, or by being slept on.

    With `jump` (the default) `sleep` moves the time on and returns; without it the sleeper waits until
    `advance` has brought the time that far.
    """

    def __init__(self, start: datetime = START, *, jump: bool = True) -> None:
        self._now = start
        self._jump = jump
        self._sleepers: list[tuple[datetime, asyncio.Event]] = []
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self._jump:
            self.advance(seconds)
            await asyncio.sleep(0)
            return
        until, woken = self._now + timedelta(seconds=seconds), asyncio.Event()
        if until > self._now:
            self._sleepers.append((until, woken))
            await woken.wait()

    def advance(self, by: timedelta | float) -> None:
        """Move the time on by a timedelta or seconds, waking whoever slept until then."""
        self._now += by if isinstance(by, timedelta) else timedelta(seconds=by)
        for sleeper in list(self._sleepers):
            until, woken = sleeper
            if until <= self._now:
                self._sleepers.remove(sleeper)
                woken.set()


class FakeRandomness:
    """Reproducible: the same seed gives the same fractions and tokens."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._tokens = 0
        self.next_fractions: list[float] = []

    def fraction(self) -> float:
        """The next of `next_fractions`, or a seeded one when there is none left."""
        return self.next_fractions.pop(0) if self.next_fractions else self._random.random()

    def token(self) -> str:
        self._tokens += 1
        return f"{self._tokens:08d}-token"
