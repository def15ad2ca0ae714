from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from devhost.servicebus.database import FILE_NAME
from devhost.servicebus.engine import Engine
from devhost.servicebus.model import Incoming, QueuePolicy, QueueRef, StorageFaultError
from tests.unit.devhost.servicebus.support import Clock, running, send

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
    database = sqlite3.connect(tmp_path / FILE_NAME)
    database.execute("CREATE TABLE other (x)")
    database.close()
    assert "not a broker database" in await refusal(tmp_path)


async def test_damage_met_while_running_is_a_fault_and_confirms_nothing(tmp_path: Path, clock: Clock) -> None:
    async with running(POLICIES, tmp_path, clock) as engine:
        await send(engine, QUEUE, *[b"x" * 3000] * 200)
    path = tmp_path / FILE_NAME
    content = bytearray(path.read_bytes())
    content[4096 * 12 :] = b"\xff" * (len(content) - 4096 * 12)
    path.write_bytes(content)
    async with running(POLICIES, tmp_path, clock) as engine:
        with pytest.raises(StorageFaultError, match="damaged"):
            await engine.peek(QUEUE, 1, 200)
        with pytest.raises(StorageFaultError, match="damaged"):
            await engine.receive(QUEUE, 200)


async def test_a_stopped_engine_refuses(tmp_path: Path, clock: Clock) -> None:
    async with running(POLICIES, tmp_path, clock) as engine:
        pending = asyncio.ensure_future(engine.enqueue(QUEUE, [Incoming(b"a")]))
        await asyncio.sleep(0)
    assert await pending == [1]
    with pytest.raises(StorageFaultError):
        await send(engine, QUEUE, b"b")
