"""The queue engine: locks, retries, dead letters, schedules and duplicate detection, kept in SQLite.

One event loop owns an engine. Every method that changes state returns only after its change is on disk.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, overload

from devhost.servicebus.model import (
    Disposition,
    Incoming,
    Locked,
    QueueCounts,
    QueuePolicy,
    QueueRef,
    ReceiveMode,
    Stored,
)


class Engine:
    """A broker's queues in ``data_dir/broker.sqlite3``.

    ``clock`` gives epoch seconds. All methods may raise ``StorageFaultError``: then nothing was changed.
    """

    def __init__(
        self, policies: Sequence[QueuePolicy], data_dir: Path, *, clock: Callable[[], float] = time.time
    ) -> None:
        raise NotImplementedError

    async def start(self) -> None:
        """Opens or creates the database and takes it for this process alone."""
        raise NotImplementedError

    async def stop(self) -> None:
        """Finishes the operations already asked for and closes. Later calls raise ``StorageFaultError``."""
        raise NotImplementedError

    def resolve(self, address: str) -> QueueRef:
        """The queue of an address: ``queue``, ``/queue/$DeadLetterQueue`` or a URI ending so, in any case.

        Raises ``EntityNotFoundError`` (also for ``$management`` and transfer dead letters).
        """
        raise NotImplementedError

    def policy(self, queue: QueueRef) -> QueuePolicy:
        """The configured policy (of the main queue, for a dead-letter queue)."""
        raise NotImplementedError

    def subscribe(self, queue: QueueRef, callback: Callable[[], None]) -> None:
        """Calls back on the loop whenever messages became available, after the commit that made them so.

        Messages available before are not announced: subscribe first, then receive once.
        """
        raise NotImplementedError

    def unsubscribe(self, queue: QueueRef, callback: Callable[[], None]) -> None:
        """Ends a subscription; an unknown one is ignored."""
        raise NotImplementedError

    async def enqueue(self, queue: QueueRef, messages: Sequence[Incoming]) -> list[int]:
        """Stores all or none; sequence numbers in the order given.

        ``scheduled_for`` in the future makes a scheduled message. A duplicate is dropped and answered with
        the number of its original. Raises ``NotAllowedError`` for a dead-letter queue.
        """
        raise NotImplementedError

    async def schedule(self, queue: QueueRef, messages: Sequence[Incoming]) -> list[int]:
        """As ``enqueue``; every message must say ``scheduled_for`` (a past time is active at once)."""
        raise NotImplementedError

    async def cancel_scheduled(self, queue: QueueRef, sequence_numbers: Sequence[int]) -> None:
        """Removes scheduled messages, all or none. Raises ``MessageNotFoundError``."""
        raise NotImplementedError

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
        raise NotImplementedError

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
        raise NotImplementedError

    async def settle(self, queue: QueueRef, token: uuid.UUID, disposition: Disposition) -> None:
        """Settles a lock, from whichever connection. Raises ``LockLostError``.

        Raises ``NotAllowedError`` for ``DeadLetter`` in a dead-letter queue; the lock is kept.
        """
        raise NotImplementedError

    async def renew(self, queue: QueueRef, tokens: Sequence[uuid.UUID]) -> list[float]:
        """Extends locks from now by the lock duration; their new ends. All or none, or ``LockLostError``."""
        raise NotImplementedError

    async def peek(
        self, queue: QueueRef, from_sequence: int, count: int, *, max_bytes: int | None = None
    ) -> list[Stored]:
        """Messages of every state from that number on, in sequence order; changes nothing.

        Stops before ``max_bytes`` of bodies (default about 4 MiB) is passed, but gives at least one.
        """
        raise NotImplementedError

    async def counts(self, queue: QueueRef) -> QueueCounts:
        """How many messages are in which state."""
        raise NotImplementedError

    async def advance(self) -> None:
        """Does all that is due by the clock (ended locks, activations, expiry). A timer calls it."""
        raise NotImplementedError
