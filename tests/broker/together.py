"""Runs a module's scenarios at once: most of their time is waiting for locks, schedules and polls."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from tests.broker.process import BrokerProcess

Body = Callable[..., Coroutine[Any, Any, None]]
Start = Callable[[], Coroutine[Any, Any, None]]
LEAKY = pytest.mark.filterwarnings("ignore::ResourceWarning")
"""The SDK leaves the socket of a broken connection unclosed, and scenarios run on while others are judged."""

_LIMIT = 90.0
_AT_ONCE = 16  # more would only make each slower than its own time limits
_THREADS = 100  # blocking calls of the sync SDK
_LAST_CALLS = 60.0  # the SDK's retries of a call whose broker is gone take about 6 s


class Together:
    """An event loop in a thread, on which every chosen scenario starts at the beginning.

    Scenarios are known by the ids of their tests; their blocking calls run in `threads`.
    """

    def __init__(self, scenarios: Mapping[str, Start], threads: ThreadPoolExecutor) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(threads)
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._thread = threading.Thread(target=self._loop.run_forever, name="scenarios")
        self._thread.start()
        self._results: dict[str, Future[None]] = {
            test: asyncio.run_coroutine_threadsafe(self._run(start), self._loop)
            for test, start in scenarios.items()
        }

    async def _run(self, start: Start) -> None:
        async with self._places:
            await asyncio.wait_for(start(), _LIMIT)

    def result(self, test: str) -> None:
        """Wait for a scenario, and fail as it failed."""
        self._results[test].result(_LIMIT * 2)

    def close(self) -> None:
        """Cancel what was not waited for, and end the thread."""
        for future in self._results.values():
            future.cancel()
        self._results.clear()
        asyncio.run_coroutine_threadsafe(self._settle_down(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _settle_down(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        if tasks:
            await asyncio.wait(tasks, timeout=5)
        await self._loop.shutdown_asyncgens()


@contextmanager
def blocking_calls() -> Iterator[ThreadPoolExecutor]:
    """Threads for the blocking SDK, all ended with the block: a call that hangs ends when its broker does."""
    pool = ThreadPoolExecutor(_THREADS)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        ended = threading.Thread(target=pool.shutdown, daemon=True)
        ended.start()
        ended.join(_LAST_CALLS)
        assert not ended.is_alive(), "a call of the blocking SDK still hangs, though its broker is gone"


def scenario(body: Body) -> Callable[[Together, pytest.FixtureRequest], None]:
    """A test made of a coroutine that takes the module's broker."""

    @LEAKY
    def test(together: Together, request: pytest.FixtureRequest) -> None:
        together.result(request.node.nodeid)

    describe(test, body, lambda broker, _item: body(broker))
    return test


def describe(test: Any, body: Body, start: Callable[[BrokerProcess, pytest.Function], Any]) -> None:
    """Give the test the name of its body, and what starts it."""
    test.__name__ = test.__qualname__ = body.__name__
    test.__module__ = body.__module__
    test.__doc__ = body.__doc__
    test.scenario = body
    test.start = start
