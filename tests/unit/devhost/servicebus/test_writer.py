from __future__ import annotations

import asyncio
import sqlite3
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devhost.servicebus.database import FILE_NAME, open_database
from devhost.servicebus.model import LockLostError, StorageFaultError
from devhost.servicebus.operations import Session
from devhost.servicebus.store import Store
from devhost.servicebus.writer import Committed, Job, Writer


class Bench:
    """A writer with one table of its own to write to."""

    def __init__(self, folder: Path) -> None:
        self.database = open_database(folder)
        self.database.execute("CREATE TABLE note (text TEXT)")
        self.commits: list[Committed] = []
        self.writer = Writer(self.database, folder / FILE_NAME, self._session, self._report)

    def write(self, text: str, refusal: Exception | None = None) -> asyncio.Future[str]:
        def operation(_: Session) -> str:
            self.database.execute("INSERT INTO note VALUES (?)", (text,))
            if refusal is not None:
                raise refusal
            return text

        return self.writer.submit(operation)

    def notes(self) -> asyncio.Future[set[str]]:
        return self.writer.submit(
            lambda _: {text for (text,) in self.database.execute("SELECT text FROM note")}
        )

    def limit_pages(self) -> asyncio.Future[None]:
        """Lets the file grow no more: SQLite then answers as it does on a full disk."""

        def operation(_: Session) -> None:
            pages = self.database.execute("PRAGMA page_count").fetchone()[0]
            self.database.execute(f"PRAGMA max_page_count = {pages}")

        return self.writer.submit(operation)

    def _session(self, store: Store) -> Session:
        return Session(store, 0.0, {}, uuid.uuid4)

    def _report(self, committed: Committed) -> None:
        self.commits.append(committed)
        for job in committed.jobs:
            if job.error is not None:
                job.done.set_exception(job.error)
            else:
                job.done.set_result(job.result)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.writer.close()


async def test_waiting_operations_share_a_commit(bench: Bench) -> None:
    texts = [str(number) for number in range(200)]
    assert await asyncio.gather(*map(bench.write, texts)) == texts
    assert len(bench.commits) < 50
    assert await bench.notes() == set(texts)


async def test_a_refused_operation_leaves_nothing_and_spares_the_others(bench: Bench) -> None:
    first = bench.write("kept")
    refused = bench.write("refused", LockLostError("lost"))
    last = bench.write("kept too")
    assert (await first, await last) == ("kept", "kept too")
    with pytest.raises(LockLostError):
        await refused
    assert await bench.notes() == {"kept", "kept too"}


async def test_a_fault_in_an_operation_is_its_callers_alone(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ZeroDivisionError):
        await bench.write("broken", ZeroDivisionError())
    assert await bench.write("next") == "next"
    assert await bench.notes() == {"next"}
    assert "a queue operation failed" in caplog.text


async def test_an_iteration_that_ends_in_an_operation_is_told_to_its_caller(bench: Bench) -> None:
    """A future does not take such an error as it is: its caller would wait for ever, and all after it."""
    broken, after = bench.write("broken", StopIteration()), bench.write("next")
    with pytest.raises(RuntimeError):
        await asyncio.wait_for(broken, 60)
    assert await asyncio.wait_for(after, 60) == "next"


async def test_if_the_writer_itself_fails_everybody_who_waits_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(_: object) -> Committed:
        raise MemoryError

    monkeypatch.setattr(bench.writer, "_commit", failing)
    waiting = [bench.write(str(number)) for number in range(5)]
    for note in waiting:
        with pytest.raises(StorageFaultError):
            await asyncio.wait_for(note, 60)
    with pytest.raises(StorageFaultError):
        await bench.write("after")
    assert "nothing more can be stored" in caplog.text


async def test_who_gets_in_line_just_when_the_writer_fails_is_told_too(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: object) -> Committed:
        raise MemoryError

    monkeypatch.setattr(bench.writer, "_commit", failing)
    first, late = bench.write("first"), asyncio.get_running_loop().create_future()
    bench.writer._thread.join(60)
    bench.writer._inbox.put(Job(lambda _: None, late))  # a submit that had looked before
    for note in (first, late):
        with pytest.raises(StorageFaultError):
            await asyncio.wait_for(note, 60)


async def test_on_a_full_disk_what_fits_is_stored_and_the_rest_refused(bench: Bench) -> None:
    await bench.limit_pages()
    small = bench.write("small")
    large = bench.write("x" * 1_000_000)
    also_small = bench.write("also small")
    assert (await small, await also_small) == ("small", "also small")
    with pytest.raises(StorageFaultError, match="disk is full"):
        await large
    assert await bench.notes() == {"small", "also small"}


async def test_a_commit_that_fails_confirms_nothing(bench: Bench) -> None:
    def closing(_: Session) -> str:
        bench.database.execute("ROLLBACK")
        return "never stored"

    with pytest.raises(StorageFaultError):
        await bench.writer.submit(closing)
    assert await bench.write("next") == "next"


async def test_closing_finishes_what_was_asked_and_refuses_the_rest(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    pending = [bench.write(str(number)) for number in range(20)]
    await bench.writer.close()
    assert await asyncio.gather(*pending) == [str(number) for number in range(20)]
    with pytest.raises(StorageFaultError, match="stopping"):
        await bench.write("late")
    with pytest.raises(sqlite3.ProgrammingError):
        bench.database.execute("SELECT 1")
