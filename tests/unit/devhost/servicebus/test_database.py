from __future__ import annotations

import asyncio
import random
import sqlite3
from pathlib import Path

import pytest

from devhost.servicebus import database
from devhost.servicebus.database import FILE_NAME
from devhost.servicebus.engine import Engine
from devhost.servicebus.model import DiskFullError, Incoming, QueuePolicy, QueueRef, StorageFaultError
from tests.unit.devhost.servicebus.support import Clock, bodies, running, send

POLICIES = [QueuePolicy("Jobs")]
QUEUE = QueueRef("Jobs")


async def refusal(folder: Path) -> str:
    with pytest.raises(StorageFaultError) as caught:
        await Engine(POLICIES, folder).start()
    return str(caught.value)


async def test_a_folder_is_made_where_there_is_none(tmp_path: Path, clock: Clock) -> None:
    async with running(POLICIES, tmp_path / "a" / "b", clock) as engine:
        assert await send(engine, QUEUE, b"a") == [1]
    assert (tmp_path / "a" / "b" / FILE_NAME).exists()


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be opened" in await refusal(tmp_path / "file" / "data")


async def test_a_database_in_use_is_refused(tmp_path: Path, clock: Clock) -> None:
    async with running(POLICIES, tmp_path, clock) as engine:
        assert "in use by another process" in await refusal(tmp_path)
        assert await send(engine, QUEUE, b"a") == [1]


async def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    content = b"something else entirely " * 100
    (tmp_path / FILE_NAME).write_bytes(content)
    assert "is damaged" in await refusal(tmp_path)
    assert (tmp_path / FILE_NAME).read_bytes() == content


async def test_a_database_of_another_kind_is_refused(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / FILE_NAME)
    other.execute("CREATE TABLE other (x)")
    other.close()
    assert "not a broker database" in await refusal(tmp_path)


async def damaged(folder: Path, clock: Clock) -> None:
    """A database of which all but the first pages is overwritten."""
    async with running(POLICIES, folder, clock) as engine:
        await send(engine, QUEUE, *[b"x" * 3000] * 200)
    path = folder / FILE_NAME
    content = bytearray(path.read_bytes())
    content[4096 * 12 :] = b"\xff" * (len(content) - 4096 * 12)
    path.write_bytes(content)


async def test_a_damaged_database_is_refused_with_what_to_do(tmp_path: Path, clock: Clock) -> None:
    await damaged(tmp_path, clock)
    said = await refusal(tmp_path)
    assert "is damaged" in said
    assert "restore a copy" in said


async def test_damage_met_while_running_is_a_fault_and_confirms_nothing(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large database is not read through at the start."""
    await damaged(tmp_path, clock)
    monkeypatch.setattr(database, "_CHECKED_BYTES", 0)
    async with running(POLICIES, tmp_path, clock) as engine:
        with pytest.raises(StorageFaultError, match="damaged"):
            await engine.peek(QUEUE, 1, 200)
        with pytest.raises(StorageFaultError, match="damaged"):
            await engine.receive(QUEUE, 200)


async def test_a_database_of_a_later_version_is_refused(tmp_path: Path, clock: Clock) -> None:
    async with running(POLICIES, tmp_path, clock):
        pass
    later = sqlite3.connect(tmp_path / FILE_NAME)
    later.execute(f"PRAGMA user_version = {database.SCHEMA_VERSION + 1}")
    later.close()
    assert f"found version {database.SCHEMA_VERSION + 1}" in await refusal(tmp_path)


@pytest.mark.parametrize("size", [0, 100, 4096, 6000, 40_000])
async def test_a_truncated_database_is_refused_unless_nothing_is_left_of_it(
    tmp_path: Path, clock: Clock, size: int
) -> None:
    async with running(POLICIES, tmp_path, clock) as engine:
        await send(engine, QUEUE, *[b"x" * 3000] * 50)
    with (tmp_path / FILE_NAME).open("r+b") as file:
        file.truncate(size)
    if size:
        assert "is damaged" in await refusal(tmp_path)
    else:
        async with running(POLICIES, tmp_path, clock) as engine:
            assert await send(engine, QUEUE, b"a") == [1]


@pytest.mark.parametrize("seed", range(8))
async def test_of_a_damaged_log_the_commits_before_the_damage_hold(
    tmp_path: Path, clock: Clock, seed: int
) -> None:
    """As after a torn write: never more than was stored, never in another order, and the broker goes on."""
    async with running(POLICIES, tmp_path, clock) as engine:
        for number in range(40):
            await send(engine, QUEUE, b"%d" % number * 100)
        name = f"{FILE_NAME}-wal"
        log, main = (tmp_path / name).read_bytes(), (tmp_path / FILE_NAME).read_bytes()
    dice, copy = random.Random(seed), tmp_path / "copy"
    copy.mkdir()
    at = dice.randrange(32, len(log))
    changed = log[:at] if seed % 2 else log[:at] + bytes([log[at] ^ 0xFF]) + log[at + 1 :]
    (copy / name).write_bytes(changed)
    (copy / FILE_NAME).write_bytes(main)
    async with running(POLICIES, copy, clock) as engine:
        found = await bodies(engine, QUEUE)
        assert found == [b"%d" % number * 100 for number in range(len(found))]
        assert await send(engine, QUEUE, b"next") == [len(found) + 1]


async def test_a_start_that_fails_lets_go_of_the_database(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(_: Engine) -> None:
        raise DiskFullError("full")

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "advance", full)
        with pytest.raises(DiskFullError):
            await Engine(POLICIES, tmp_path, clock=clock).start()
    async with running(POLICIES, tmp_path, clock) as engine:
        assert await send(engine, QUEUE, b"a") == [1]


async def test_a_stopped_engine_refuses(tmp_path: Path, clock: Clock) -> None:
    async with running(POLICIES, tmp_path, clock) as engine:
        pending = asyncio.ensure_future(engine.enqueue(QUEUE, [Incoming(b"a")]))
        await asyncio.sleep(0)
    assert await pending == [1]
    with pytest.raises(StorageFaultError):
        await send(engine, QUEUE, b"b")
