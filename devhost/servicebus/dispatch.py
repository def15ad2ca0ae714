"""Hands a queue's messages to the receivers that want them, in turn.

A message is written to a receiver only after its lock (or removal) is stored.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Protocol

from devhost.servicebus.engine import Engine
from devhost.servicebus.model import (
    Locked,
    LockLostError,
    QueueRef,
    ReceiveMode,
    Release,
    StorageFaultError,
    Stored,
)

log = logging.getLogger(__name__)
_MAX_ROUND = 100
_PAUSE_AFTER_FAULT = 0.5


class Receiver(Protocol):
    """A link that takes messages from a queue."""

    mode: ReceiveMode

    def wants(self) -> int:
        """How many messages may be written now."""

    def deliver_locked(self, locked: Locked) -> None:
        """Write a locked message."""

    def deliver_plain(self, stored: Stored) -> None:
        """Write a message that is no longer stored."""

    def nothing_left(self) -> None:
        """The queue had nothing (more) to give: a drain is over."""


class QueueDispatcher:
    """Shares one queue among its receivers, round robin by credit."""

    def __init__(
        self, engine: Engine, queue: QueueRef, spawn: Callable[[Coroutine[Any, Any, None]], None]
    ) -> None:
        self._engine = engine
        self._queue = queue
        self._spawn = spawn
        self._receivers: list[Receiver] = []
        self._asked = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def add(self, receiver: Receiver) -> None:
        """A receiver attached."""
        if not self._receivers:
            self._engine.subscribe(self._queue, self.wake)
            self._task = asyncio.get_running_loop().create_task(self._run())
        self._receivers.append(receiver)

    def remove(self, receiver: Receiver) -> None:
        """A receiver is gone; unknown ones are ignored."""
        with suppress(ValueError):
            self._receivers.remove(receiver)
            if not self._receivers:
                self.stop()

    def wake(self) -> None:
        """Something changed: messages came, or a receiver wants more."""
        self._asked.set()

    def stop(self) -> None:
        """End the work; a lock being taken meanwhile is released by the engine."""
        self._engine.unsubscribe(self._queue, self.wake)
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        while True:
            await self._asked.wait()
            self._asked.clear()
            try:
                while await self._round():
                    pass
            except StorageFaultError as fault:
                log.warning("messages of %s cannot be handed out: %s", self._queue.address, fault)
                await asyncio.sleep(_PAUSE_AFTER_FAULT)
                self.wake()
            except Exception:
                log.exception("handing out messages of %s failed", self._queue.address)
                await asyncio.sleep(_PAUSE_AFTER_FAULT)
                self.wake()

    async def _round(self) -> bool:
        """One receive for each mode in use. Whether another round makes sense."""
        locked = await self._take(ReceiveMode.PEEK_LOCK)
        deleted = await self._take(ReceiveMode.RECEIVE_AND_DELETE)
        return locked or deleted

    async def _take(self, mode: ReceiveMode) -> bool:
        wanted = sum(receiver.wants() for receiver in self._receivers if receiver.mode is mode)
        if not wanted:
            return False
        limit = min(wanted, _MAX_ROUND)
        found: Sequence[Locked | Stored]
        if mode is ReceiveMode.PEEK_LOCK:
            found = await self._engine.receive(self._queue, limit, ReceiveMode.PEEK_LOCK)
        else:
            found = await self._engine.receive(self._queue, limit, ReceiveMode.RECEIVE_AND_DELETE)
        for message in found:
            self._hand_out(message, mode)
        if not found:
            for receiver in [r for r in self._receivers if r.mode is mode]:
                receiver.nothing_left()
        return bool(found)

    def _hand_out(self, message: Locked | Stored, mode: ReceiveMode) -> None:
        receiver = next((r for r in self._receivers if r.mode is mode and r.wants()), None)
        if receiver is None:
            self._give_back(message)
            return
        self._receivers.remove(receiver)
        self._receivers.append(receiver)
        if isinstance(message, Locked):
            receiver.deliver_locked(message)
        else:
            receiver.deliver_plain(message)

    def _give_back(self, message: Locked | Stored) -> None:
        """The receiver left while the message was fetched; a deleted one is lost, as its mode allows."""
        if isinstance(message, Locked):
            self._spawn(release(self._engine, self._queue, message))


async def release(engine: Engine, queue: QueueRef, locked: Locked) -> None:
    """Unlock a message that was never written to anyone, without counting a delivery."""
    try:
        await engine.settle(queue, locked.token, Release())
    except (LockLostError, StorageFaultError) as error:
        log.warning("a message of %s stays locked until its lock ends: %s", queue.address, error)
