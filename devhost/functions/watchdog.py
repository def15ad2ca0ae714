"""`functionTimeout`: an invocation that runs longer takes the whole worker process with it.

A thread, not a timer on the event loop, because the function that overran may be blocking that loop.
Source: https://learn.microsoft.com/azure/azure-functions/functions-scale#timeout
"""

import threading
import time
from collections.abc import Callable
from datetime import timedelta


class Watchdog:
    """Calls `on_timeout(label)` once, on its own thread, when a watched invocation outlives the limit."""

    def __init__(self, limit: timedelta, on_timeout: Callable[[str], None]) -> None:
        self._limit = limit.total_seconds()
        self._on_timeout = on_timeout
        # All limits are equal, so insertion order is deadline order.
        self._deadlines: dict[str, tuple[float, str]] = {}
        self._changed = threading.Condition()
        threading.Thread(target=self._watch, name="function-timeout", daemon=True).start()

    def watch(self, invocation_id: str, label: str) -> None:
        with self._changed:
            self._deadlines[invocation_id] = (time.monotonic() + self._limit, label)
            if len(self._deadlines) == 1:
                self._changed.notify()

    def release(self, invocation_id: str) -> None:
        with self._changed:
            self._deadlines.pop(invocation_id, None)

    def _watch(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._deadlines))
                deadline, label = next(iter(self._deadlines.values()))
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    self._on_timeout(label)
                    return
            time.sleep(remaining)
