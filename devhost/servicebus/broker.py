"""What all connections of a broker share."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from devhost.servicebus.capacity import Capacity
from devhost.servicebus.dispatch import QueueDispatcher
from devhost.servicebus.engine import Engine
from devhost.servicebus.model import QueueRef
from devhost.servicebus.sas import SharedKey

if TYPE_CHECKING:
    from devhost.servicebus.connection import Connection

log = logging.getLogger(__name__)
_FAREWELL_SECONDS = 1.0


class Broker:
    """The engine, the key, the connections, and the work in progress."""

    def __init__(
        self,
        engine: Engine,
        key: SharedKey,
        *,
        clock: Callable[[], float] = time.time,
        capacity: Capacity | None = None,
    ) -> None:
        self.engine = engine
        self.key = key
        self.clock = clock
        self.capacity = capacity or Capacity(None)
        self.connections: set[Connection] = set()
        self._dispatchers: dict[QueueRef, QueueDispatcher] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def dispatcher(self, queue: QueueRef) -> QueueDispatcher:
        """The one that hands out the messages of `queue`."""
        if queue not in self._dispatchers:
            self._dispatchers[queue] = QueueDispatcher(self.engine, queue, self.spawn)
        return self._dispatchers[queue]

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` to its end, whatever becomes of the connection that asked for it."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a task of the broker failed", exc_info=error)

    async def stop(self) -> None:
        """Finish and answer what has come, tell every peer why, and let go."""
        for dispatcher in self._dispatchers.values():
            dispatcher.stop()
        for connection in self.connections:
            connection.stop_reading()
        await self._finish_tasks()
        for connection in list(self.connections):
            connection.shut_down()
        if self.connections:
            await asyncio.wait(
                [connection.closed for connection in self.connections], timeout=_FAREWELL_SECONDS
            )
        for connection in list(self.connections):
            connection.abort()
        await self._finish_tasks()

    async def _finish_tasks(self) -> None:
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=_FAREWELL_SECONDS)
        for task in late:
            task.cancel()
