"""Runs a module's scenarios at once: most of their time is waiting for locks, schedules and polls."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future
from typing import Any

from tests.broker.process import BrokerProcess

Scenario = Callable[[BrokerProcess], Coroutine[Any, Any, None]]
_LIMIT = 90.0
_AT_ONCE = 12  # more would only make each slower than its own time limits


class Together:
    """An event loop in a thread, on which every chosen scenario starts at the beginning."""

    def __init__(self, broker: BrokerProcess, scenarios: Iterable[Scenario]) -> None:
        self._loop = asyncio.new_event_loop()
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._thread = threading.Thread(target=self._loop.run_forever, name="scenarios")
        self._thread.start()
        self._results: dict[Scenario, Future[None]] = {
            body: asyncio.run_coroutine_threadsafe(self._run(body, broker), self._loop) for body in scenarios
        }

    async def _run(self, body: Scenario, broker: BrokerProcess) -> None:
        async with self._places:
            await asyncio.wait_for(body(broker), _LIMIT)

    def result(self, body: Scenario) -> None:
        """Wait for a scenario, and fail as it failed."""
        self._results[body].result(_LIMIT * 2)

    def close(self) -> None:
        """Cancel what was not waited for, and end the thread."""
        for future in self._results.values():
            future.cancel()
        asyncio.run_coroutine_threadsafe(self._settle_down(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _settle_down(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        if tasks:
            await asyncio.wait(tasks, timeout=5)
        await self._loop.shutdown_asyncgens()


def scenario(body: Scenario) -> Callable[[Together], None]:
    """A test made of a coroutine that takes the module's broker."""

    def test(together: Together) -> None:
        together.result(body)

    test.__name__ = test.__qualname__ = body.__name__
    test.__module__ = body.__module__
    test.__doc__ = body.__doc__
    test.scenario = body  # type: ignore[attr-defined]  # read by the fixture that starts them
    return test
