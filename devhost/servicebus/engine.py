"""The queue engine: locks, retries, dead letters, schedules and duplicate detection, kept in SQLite.

One event loop owns an engine. Every method that changes state returns only after its change is on disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

from devhost.servicebus import operations
from devhost.servicebus.alarm import Alarm
from devhost.servicebus.database import FILE_NAME, fault, open_database, register
from devhost.servicebus.entities import Directory, Entity
from devhost.servicebus.model import (
    DiskFullError,
    Disposition,
    Incoming,
    Locked,
    MessageNotFoundError,
    QueueCounts,
    QueueFullError,
    QueuePolicy,
    QueueRef,
    ReceiveMode,
    StorageFaultError,
    Stored,
)
from devhost.servicebus.store import Store
from devhost.servicebus.writer import MAX_DUE, Committed, Writer

T = TypeVar("T")
RETRY_SECONDS = 1.0


class Engine:
    """A broker's queues in ``data_dir/broker.sqlite3``.

    ``clock`` gives epoch seconds. All methods may raise ``StorageFaultError``: then nothing was changed.
    """

    def __init__(
        self,
        policies: Sequence[QueuePolicy],
        data_dir: Path,
        *,
        clock: Callable[[], float] = time.time,
        new_token: Callable[[], uuid.UUID] = uuid.uuid4,
    ) -> None:
        self._directory = Directory(policies)
        self._data_dir = data_dir
        self._clock = clock
        self._new_token = new_token
        self._entities: dict[QueueRef, Entity] = {}
        self._by_number: dict[int, Entity] = {}
        self._subscribers: dict[QueueRef, list[Callable[[], None]]] = {}
        self._writer: Writer | None = None
        self._alarm = Alarm(clock, self._on_alarm)

    async def start(self) -> None:
        """Opens or creates the database and takes it for this process alone."""
        if self._writer is not None:
            raise RuntimeError("the engine is started already")
        connection, ids = await asyncio.to_thread(self._open)
        self._entities = self._directory.bind(ids)
        self._by_number = {entity.id: entity for entity in self._entities.values()}
        path = self._data_dir / FILE_NAME
        self._writer = Writer(connection, path, self._new_session, self._on_commit)
        try:
            await self.advance()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Finishes the operations already asked for and closes. Later calls raise ``StorageFaultError``."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            self._alarm.cancel()
            await writer.close()

    def resolve(self, address: str) -> QueueRef:
        """The queue of an address: ``queue``, ``/queue/$DeadLetterQueue`` or a URI ending so, in any case.

        Raises ``EntityNotFoundError`` (also for ``$management`` and transfer dead letters).
        """
        return self._directory.resolve(address)

    def policy(self, queue: QueueRef) -> QueuePolicy:
        """The configured policy (of the main queue, for a dead-letter queue)."""
        return self._directory.policy(queue)

    def subscribe(self, queue: QueueRef, callback: Callable[[], None]) -> None:
        """Calls back on the loop whenever messages became available, after the commit that made them so.

        Messages available before are not announced: subscribe first, then receive once.
        """
        self._subscribers.setdefault(queue, []).append(callback)

    def unsubscribe(self, queue: QueueRef, callback: Callable[[], None]) -> None:
        """Ends a subscription; an unknown one is ignored."""
        with contextlib.suppress(KeyError, ValueError):
            self._subscribers[queue].remove(callback)

    async def enqueue(self, queue: QueueRef, messages: Sequence[Incoming]) -> list[int]:
        """Stores all or none; sequence numbers in the order given.

        ``scheduled_for`` in the future makes a scheduled message. A duplicate is dropped and answered with
        the number of its original. Raises ``QueueFullError``, and ``NotAllowedError`` for a dead-letter
        queue.
        """
        entity = self._entity(queue)
        return await self._added(lambda session: operations.enqueue(session, entity, messages))

    async def schedule(self, queue: QueueRef, messages: Sequence[Incoming]) -> list[int]:
        """As ``enqueue``; every message must say ``scheduled_for`` (a past time is active at once)."""
        entity = self._entity(queue)
        return await self._added(lambda session: operations.schedule(session, entity, messages))

    async def cancel_scheduled(self, queue: QueueRef, sequence_numbers: Sequence[int]) -> None:
        """Removes scheduled messages, all or none. Raises ``MessageNotFoundError``."""
        entity = self._entity(queue)
        await self._submit(lambda session: operations.cancel_scheduled(session, entity, sequence_numbers))

    @overload
    async def receive(
        self, queue: QueueRef, limit: int, mode: Literal[ReceiveMode.PEEK_LOCK] = ReceiveMode.PEEK_LOCK
    ) -> list[Locked]: ...
    @overload
    async def receive(
        self, queue: QueueRef, limit: int, mode: Literal[ReceiveMode.RECEIVE_AND_DELETE]
    ) -> list[Stored]: ...
    async def receive(
        self, queue: QueueRef, limit: int, mode: ReceiveMode = ReceiveMode.PEEK_LOCK
    ) -> list[Locked] | list[Stored]:
        """Up to ``limit`` available messages in sequence order, at once; their locks (or removal) are stored.

        One call gives about 4 MiB of bodies at most, so fewer than ``limit`` does not mean that none is left;
        an empty list does. If the caller is cancelled meanwhile, locks taken for it are released.
        """
        entity = self._entity(queue)
        if limit < 1:
            return []
        done = self._submit(lambda session: operations.receive(session, entity, limit, mode))
        return await self._claimed(queue, done)

    @overload
    async def receive_deferred(
        self,
        queue: QueueRef,
        sequence_numbers: Sequence[int],
        mode: Literal[ReceiveMode.PEEK_LOCK] = ReceiveMode.PEEK_LOCK,
    ) -> list[Locked]: ...
    @overload
    async def receive_deferred(
        self, queue: QueueRef, sequence_numbers: Sequence[int], mode: Literal[ReceiveMode.RECEIVE_AND_DELETE]
    ) -> list[Stored]: ...
    async def receive_deferred(
        self,
        queue: QueueRef,
        sequence_numbers: Sequence[int],
        mode: ReceiveMode = ReceiveMode.PEEK_LOCK,
    ) -> list[Locked] | list[Stored]:
        """Deferred messages by number, all or none, in the order asked for.

        Raises ``MessageNotFoundError`` if one is missing, not deferred, locked or expired.
        """
        entity = self._entity(queue)
        done = self._submit(
            lambda session: operations.receive_deferred(session, entity, sequence_numbers, mode)
        )
        found = await self._claimed(queue, done)
        if found is None:
            raise MessageNotFoundError("A deferred message with this sequence number was not found.")
        return found

    async def settle(self, queue: QueueRef, token: uuid.UUID, disposition: Disposition) -> None:
        """Settles a lock, from whichever connection. Raises ``LockLostError``.

        Raises ``NotAllowedError`` for ``DeadLetter`` in a dead-letter queue; the lock is kept.
        """
        entity = self._entity(queue)
        await self._submit(lambda session: operations.settle(session, entity, token, disposition))

    async def renew(self, queue: QueueRef, tokens: Sequence[uuid.UUID]) -> list[float]:
        """Extends locks from now by the lock duration; their new ends. All or none, or ``LockLostError``."""
        entity = self._entity(queue)
        return await self._submit(lambda session: operations.renew(session, entity, tokens))

    async def peek(
        self, queue: QueueRef, from_sequence: int, count: int, *, max_bytes: int | None = None
    ) -> list[Stored]:
        """Messages of every state from that number on, in sequence order; changes nothing.

        Stops before ``max_bytes`` of bodies (default about 4 MiB) is passed, but gives at least one.
        """
        entity = self._entity(queue)
        if count < 1:
            return []
        room = operations.MAX_BYTES if max_bytes is None else max_bytes
        return await self._submit(
            lambda session: operations.peek(session, entity, from_sequence, count, room)
        )

    async def counts(self, queue: QueueRef) -> QueueCounts:
        """How many messages are in which state."""
        entity = self._entity(queue)
        return await self._submit(lambda session: operations.counts(session, entity))

    async def advance(self) -> None:
        """Does all that is due by the clock (ended locks, activations, expiry). A timer calls it."""
        # The writer does what is due before any operation; more than one transaction may take, in turns.
        while await self._submit(lambda session: operations.advance(session, MAX_DUE)):
            pass

    async def clock_moved(self) -> None:
        """The clock was set: does what is due by the new time, and waits for the rest by it."""
        self._alarm.cancel()
        await self.advance()
        for queue in self._entities:  # set back, messages about to expire may be had again
            self._announce(queue)

    def _open(self) -> tuple[sqlite3.Connection, dict[QueueRef, int]]:
        connection = open_database(self._data_dir)
        try:
            return connection, register(connection, self._directory.refs)
        except sqlite3.Error as error:
            connection.close()
            raise fault(error, self._data_dir / FILE_NAME) from error

    def _new_session(self, store: Store) -> operations.Session:
        return operations.Session(store, round(self._clock(), 3), self._by_number, self._new_token)

    def _entity(self, queue: QueueRef) -> Entity:
        entity = self._entities.get(queue)
        return entity if entity is not None else self._entities[self.resolve(queue.address)]

    def _submit(self, operation: Callable[[operations.Session], T]) -> asyncio.Future[T]:
        if self._writer is None:
            raise StorageFaultError("The broker is not running. Nothing was stored.")
        return self._writer.submit(operation)

    async def _added(self, operation: Callable[[operations.Session], T]) -> T:
        try:
            return await self._submit(operation)
        except DiskFullError as error:
            raise QueueFullError(f"There is no room for more messages. {error}") from error

    async def _claimed(self, queue: QueueRef, done: asyncio.Future[T]) -> T:
        """Waits for received messages; if the waiter is cancelled, gives their locks back."""
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            done.add_done_callback(lambda done: self._give_back(queue, done))
            raise

    def _give_back(self, queue: QueueRef, done: asyncio.Future[Any]) -> None:
        if self._writer is None or done.cancelled() or done.exception() is not None:
            return
        entity = self._entity(queue)
        tokens = [item.token for item in done.result() or () if isinstance(item, Locked)]
        given = self._writer.submit(lambda session: operations.release(session, entity, tokens))
        given.add_done_callback(lambda given: given.exception())  # else the locks run out by themselves

    def _on_commit(self, committed: Committed) -> None:
        for job in committed.jobs:
            if job.done.done():
                continue
            if job.error is not None:
                job.done.set_exception(job.error)
            else:
                job.done.set_result(job.result)
        for number in committed.available:
            self._announce(self._by_number[number].ref)
        if self._writer is not None:
            self._alarm.set(committed.next_due if committed.stored else self._clock() + RETRY_SECONDS)

    def _announce(self, queue: QueueRef) -> None:
        for callback in self._subscribers.get(queue, ()):
            asyncio.get_running_loop().call_soon(callback)  # its fault is its own

    def _on_alarm(self) -> None:
        if self._writer is not None:
            done = self._writer.submit(lambda _: None)
            done.add_done_callback(lambda done: done.exception())  # a fault sets the alarm again
