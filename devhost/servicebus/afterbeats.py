"""Empty frames after a node's answer, which free the threads of a client that wait for each other.

The blocking SDK (azure-servicebus 7.15.0, `_pyamqp/_transport.py`) reads its socket under the lock that it
also writes under, for up to 0.2 s. A thread whose answer another one has read meanwhile reads on for nothing,
and nobody can write as long: a renewer of locks with six threads then makes 30 requests a second. A frame
ends such a read; an empty one has no other meaning (OASIS AMQP 1.0 part 2, section 2.4.5).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_INTERVAL = 0.005
BEATS = 8


class Afterbeats:
    """Calls `beat` a few times after the last answer, at short intervals."""

    def __init__(self, beat: Callable[[], None]) -> None:
        self._beat = beat
        self._loop = asyncio.get_running_loop()
        self._left = 0
        self._timer: asyncio.TimerHandle | None = None

    def answered(self) -> None:
        """An answer went out."""
        self._left = BEATS
        if self._timer is None:
            self._timer = self._loop.call_later(_INTERVAL, self._tick)

    def stop(self) -> None:
        """The connection is gone."""
        self._left = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self) -> None:
        self._beat()
        self._left -= 1
        self._timer = self._loop.call_later(_INTERVAL, self._tick) if self._left > 0 else None
