"""The one thread that touches the database: it runs waiting operations in groups, one commit for each group.

A caller hears of its result only after the commit. While one commit is on its way to the disk the next group
gathers, so throughput grows with the number of callers.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from devhost.servicebus.database import fault
from devhost.servicebus.model import BrokerError, StorageFaultError
from devhost.servicebus.operations import Session, advance
from devhost.servicebus.store import Store

T = TypeVar("T")
MAX_GROUP = 256
MAX_DUE = 500
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Job:
    """An operation and who waits for it."""

    operation: Callable[[Session], Any]
    done: asyncio.Future[Any]
    result: Any = None
    error: Exception | None = None


@dataclass(slots=True)
class Committed:
    """What a commit brings to the event loop."""

    jobs: list[Job]
    available: set[int] = field(default_factory=set)
    next_due: float | None = None
    stored: bool = True


class Writer:
    """Runs operations on the connection in its own thread. ``report`` is called on the loop per commit."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        new_session: Callable[[Store], Session],
        report: Callable[[Committed], None],
    ) -> None:
        self._db = connection
        self._path = path
        self._new_session = new_session
        self._report = report
        self._store = Store(connection)
        self._loop = asyncio.get_running_loop()
        self._inbox: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="broker-writer", daemon=True)
        self._thread.start()

    def submit(self, operation: Callable[[Session], T]) -> asyncio.Future[T]:
        """Queues the operation. The future fails with ``StorageFaultError`` if it could not be stored."""
        done: asyncio.Future[T] = self._loop.create_future()
        if self._closed:
            done.set_exception(StorageFaultError("The broker is stopping. Nothing was stored."))
        else:
            self._inbox.put(Job(operation, done))
        return done

    async def close(self) -> None:
        """Finishes what was submitted, then closes the database."""
        self._closed = True
        self._inbox.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        group: list[Job] = []
        with contextlib.closing(self._db):
            try:
                while group := self._next_group():
                    self._send(self._commit(group))
            except Exception:  # noqa: BLE001 - whatever it is, the callers must hear
                _log.critical("the broker's writer ended: nothing more can be stored", exc_info=True)
                self._closed = True
                with contextlib.suppress(RuntimeError):  # as in `_send`
                    self._loop.call_soon_threadsafe(self._refuse, group)

    def _refuse(self, jobs: list[Job]) -> None:
        """Nobody is to wait for an answer that cannot come: not these, nor who waits in line.

        It runs on the loop, as `submit` does: whoever found the writer open has got in line by then.
        """
        waiting = list(jobs)
        with contextlib.suppress(queue.Empty):
            while True:
                waiting += [job for job in [self._inbox.get_nowait()] if job is not None]
        for job in waiting:
            job.error = StorageFaultError("The broker failed inside. Nothing was stored.")
        self._report(Committed(waiting, stored=False))

    def _next_group(self) -> list[Job]:
        """Waits for work, then takes all there is. Empty at the end."""
        group: list[Job] = []
        job = self._inbox.get()
        while job is not None:
            group.append(job)
            if len(group) == MAX_GROUP or self._inbox.empty():
                return group
            job = self._inbox.get()
        if group:
            self._inbox.put(None)
        return group

    def _send(self, committed: Committed) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is gone, and with it whoever waited
            self._loop.call_soon_threadsafe(self._report, committed)

    def _commit(self, group: list[Job]) -> Committed:
        try:
            return self._transact(group)
        except Exception as error:  # noqa: BLE001 - whatever it is, the callers must hear and the thread go on
            self._roll_back()
            if len(group) == 1:
                group[0].result, group[0].error = None, self._fault(error)
                return Committed(group, stored=False)
        # One by one: what cannot be stored must not keep the rest (a full disk can still take removals).
        parts = [self._commit([job]) for job in group]
        available = {number for part in parts for number in part.available}
        stored = all(part.stored for part in parts)
        return Committed(group, available, parts[-1].next_due, stored)

    def _transact(self, group: list[Job]) -> Committed:
        self._db.execute("BEGIN IMMEDIATE")
        session = self._new_session(self._store)
        advance(session, MAX_DUE)
        available = set(session.available)
        for job in group:
            session.available.clear()
            if self._attempt(job, session):
                available |= session.available
        next_due = self._store.next_due()
        self._db.execute("COMMIT")
        return Committed(group, available, next_due)

    def _attempt(self, job: Job, session: Session) -> bool:
        """Runs one operation whole or not at all; a refusal leaves the group's other operations standing."""
        job.result = job.error = None
        self._db.execute("SAVEPOINT operation")
        try:
            job.result = job.operation(session)
        except sqlite3.Error:
            raise
        except BrokerError as refusal:
            job.error = refusal
        except StopIteration as error:  # which no future takes
            job.error = RuntimeError("a queue operation ended an iteration that was not its own")
            job.error.__cause__ = error
        except Exception as error:  # noqa: BLE001 - a fault of one operation is its caller's, not the broker's end
            _log.exception("a queue operation failed")
            job.error = error
        if job.error is not None:
            self._db.execute("ROLLBACK TO operation")
        self._db.execute("RELEASE operation")
        return job.error is None

    def _fault(self, error: Exception) -> StorageFaultError:
        if isinstance(error, sqlite3.Error):
            return fault(error, self._path)
        _log.error("the broker's writer failed", exc_info=error)
        return StorageFaultError("The broker failed inside. Nothing was stored.")

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
