"""One timer for all deadlines: it rings at the earliest, and is set anew after every commit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_LONGEST = 60.0


class Alarm:
    """Calls ``ring`` on the running loop when the clock (epoch seconds) reaches the time set last.

    While set it rings every minute at least: the wall clock may be put forward meanwhile, and a computer
    sleep.
    """

    def __init__(self, clock: Callable[[], float], ring: Callable[[], None]) -> None:
        self._clock = clock
        self._ring = ring
        self._handle: asyncio.TimerHandle | None = None
        self._at: float | None = None

    def set(self, at: float | None) -> None:
        """Rings at that time instead of the one set before; never, if None."""
        if self._handle is not None and at == self._at:
            return
        self.cancel()
        if at is not None:
            self._at = at
            delay = min(max(at - self._clock(), 0.0), _LONGEST)
            self._handle = asyncio.get_running_loop().call_later(delay, self._fire)

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle = self._at = None

    def _fire(self) -> None:
        self._handle = self._at = None
        self._ring()
