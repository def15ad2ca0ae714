"""How many connections the system's limit of open files has room for.

A client above it is taken and let go at once, so that it hears of it. Left to asyncio (CPython 3.11,
`selector_events._accept_connection`) it would wait for an answer that never comes, while the log fills with a
traceback for each place in the backlog, again every second.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

log = logging.getLogger(__name__)
ACCEPTED_AT_ONCE = 4
"""Connections taken in one turn of the loop. Three turns later at most, one too many is closed again."""

OWN_FILES = 32
"""What is kept free for the database, the clock's file, the listeners, and connections about to be closed."""

_COMPLAINT_SECONDS = 60.0


class Capacity:
    """Says which connections there is room for, and logs, once a minute at most, that there is none."""

    def __init__(self, files: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        """`files` may be open at once in this process; None: there is no limit."""
        self.connections = None if files is None else max(files - OWN_FILES, 0)
        self._files = files
        self._clock = clock
        self._turned_away = 0
        self._complained: float | None = None

    def admits(self, open_connections: int) -> bool:
        """Whether there is room for one more."""
        if self.connections is None or open_connections < self.connections:
            return True
        self._turned_away += 1
        now = self._clock()
        if self._complained is None or now - self._complained >= _COMPLAINT_SECONDS:
            self._complained = now
            self._complain()
        return False

    def advice(self) -> str:
        """What the limit is, and what to do about it."""
        return (
            f"this process may have {self._files} files open, which leaves room for {self.connections} "
            "connections. Raise the limit before it is started (ulimit -n 4096; ulimit -Hn shows the most)"
        )

    def _complain(self) -> None:
        log.error(
            "connections are turned away (%d so far): %s, or close senders and receivers not in use.",
            self._turned_away,
            self.advice(),
        )
