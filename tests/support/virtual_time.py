"""An event loop whose time jumps to the next timer as soon as nothing else is to be done.

Hours of many tasks that sleep, and time out, pass in moments, in their true order.
"""

import asyncio
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import Any, TypeVar

from tests.support.fakes.time import START, FakeClock

T = TypeVar("T")


class VirtualLoop(asyncio.SelectorEventLoop):
    """Nothing of the outside may be awaited on it: there is no real time to wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self._passed = 0.0

    def time(self) -> float:
        return self._passed

    def _run_once(self) -> None:
        ready, timers = self._ready, self._scheduled  # type: ignore[attr-defined]  # of BaseEventLoop
        if not ready and timers:
            self._passed = max(self._passed, timers[0].when())
        super()._run_once()  # type: ignore[misc]  # of BaseEventLoop


class LoopClock(FakeClock):
    """The clock of the running virtual loop."""

    def now(self) -> datetime:
        return START + timedelta(seconds=asyncio.get_running_loop().time())

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """What `main` returns, however long it sleeps."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
