"""Group commit: while one group is on its way, the next one gathers; each caller gets its own outcome."""

import asyncio
import copy
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from shared.errors import QueueUnavailable

T = TypeVar("T")
Outcomes = list[Exception | None]
"""For each item in order: None when it is confirmed, else why not."""


class Coalescer(Generic[T]):
    """Hands items to `flush` in groups of at most `most`, one group at a time.

    `flush` may raise: then every item of its group failed with that error. An item whose caller gave up
    before its group left is not sent.
    """

    def __init__(self, flush: Callable[[Sequence[T]], Awaitable[Outcomes]], most: int) -> None:
        self._flush = flush
        self._most = most
        self._waiting: deque[tuple[T, asyncio.Future[None]]] = deque()
        self._pump: asyncio.Task[None] | None = None
        self._closed = False

    async def submit(self, item: T) -> None:
        """Return when the item is confirmed; raises what became of it otherwise."""
        if self._closed:
            raise QueueUnavailable("The connection to the bus is being closed.")
        outcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, outcome))
        if self._pump is None:
            self._pump = asyncio.create_task(self._run())
        await outcome

    async def aclose(self) -> None:
        """Refuse new items, fail the waiting ones, and end."""
        self._closed = True
        pump = self._pump
        if pump is not None:
            pump.cancel()
            await asyncio.gather(pump, return_exceptions=True)
        self._fail_waiting()

    async def _run(self) -> None:
        try:
            while group := self._next_group():
                await self._send(group)
        finally:
            self._pump = None

    def _next_group(self) -> list[tuple[T, asyncio.Future[None]]]:
        group: list[tuple[T, asyncio.Future[None]]] = []
        while self._waiting and len(group) < self._most:
            item, outcome = self._waiting.popleft()
            if not outcome.done():
                group.append((item, outcome))
        return group

    async def _send(self, group: list[tuple[T, asyncio.Future[None]]]) -> None:
        outcomes: Outcomes = [QueueUnavailable("The connection to the bus was closed.") for _ in group]
        try:
            outcomes = await self._flush([item for item, _ in group])
        except Exception as failure:  # noqa: BLE001  whatever it is, every caller of the group must hear it
            outcomes = [copy.copy(failure) for _ in group]
        finally:
            for (_, outcome), error in zip(group, outcomes, strict=True):
                _settle(outcome, error)

    def _fail_waiting(self) -> None:
        while self._waiting:
            _settle(self._waiting.popleft()[1], QueueUnavailable("The connection to the bus was closed."))


def _settle(outcome: "asyncio.Future[None]", error: Exception | None) -> None:
    if outcome.done():
        return
    if error is None:
        outcome.set_result(None)
    else:
        outcome.set_exception(error)
