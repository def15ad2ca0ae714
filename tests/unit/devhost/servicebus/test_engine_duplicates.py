from __future__ import annotations

import contextlib
import sqlite3
import uuid
from pathlib import Path

import pytest

from devhost.servicebus.database import FILE_NAME
from devhost.servicebus.engine import Engine
from devhost.servicebus.model import Complete, Incoming, MessageId, QueueRef
from tests.unit.devhost.servicebus.conftest import POLICIES
from tests.unit.devhost.servicebus.support import Clock, bodies, send, take


@pytest.fixture
def once(engine: Engine) -> QueueRef:
    return engine.resolve("once")


async def test_a_duplicate_is_dropped_and_answered_with_its_originals_number(
    engine: Engine, once: QueueRef
) -> None:
    assert await engine.enqueue(once, [Incoming(b"a", "1"), Incoming(b"b", "2")]) == [1, 2]
    assert await engine.enqueue(once, [Incoming(b"c", "2"), Incoming(b"d", "3")]) == [2, 3]
    assert await bodies(engine, once) == [b"a", b"b", b"d"]


async def test_a_duplicate_in_the_same_batch_is_dropped(engine: Engine, once: QueueRef) -> None:
    assert await engine.enqueue(once, [Incoming(b"a", "1"), Incoming(b"b", "1")]) == [1, 1]
    assert await bodies(engine, once) == [b"a"]


async def test_a_completed_message_is_remembered(engine: Engine, once: QueueRef) -> None:
    await engine.enqueue(once, [Incoming(b"a", "1")])
    await engine.settle(once, (await take(engine, once)).token, Complete())
    await engine.enqueue(once, [Incoming(b"b", "1")])
    assert await bodies(engine, once) == []


async def test_messages_without_an_id_are_never_duplicates(engine: Engine, once: QueueRef) -> None:
    await send(engine, once, b"a", b"a")
    assert await bodies(engine, once) == [b"a", b"a"]


async def test_ids_of_different_types_are_different(engine: Engine, once: QueueRef) -> None:
    number = uuid.UUID(int=0x31323334353637383930313233343536)
    ids: list[MessageId] = ["1", 1, b"1", number, number.bytes, str(number)]
    await engine.enqueue(once, [Incoming(b"a", message_id) for message_id in ids])
    assert len(await bodies(engine, once)) == len(ids)


async def test_the_window_starts_at_the_first_and_ends(engine: Engine, once: QueueRef, clock: Clock) -> None:
    await engine.enqueue(once, [Incoming(b"a", "1")])
    await clock.pass_by(99, engine)
    await engine.enqueue(once, [Incoming(b"b", "1")])
    await clock.pass_by(1, engine)
    await engine.enqueue(once, [Incoming(b"c", "1")])
    assert await bodies(engine, once) == [b"a", b"c"]


async def test_a_scheduled_message_counts_from_its_sending(
    engine: Engine, once: QueueRef, clock: Clock
) -> None:
    await engine.enqueue(once, [Incoming(b"a", "1", scheduled_for=clock.now + 50)])
    await engine.enqueue(once, [Incoming(b"b", "1")])
    assert await bodies(engine, once) == [b"a"]


async def test_queues_without_detection_take_everything(engine: Engine, queue: QueueRef) -> None:
    await engine.enqueue(queue, [Incoming(b"a", "1"), Incoming(b"b", "1")])
    assert await bodies(engine, queue) == [b"a", b"b"]


async def test_ids_are_remembered_across_a_restart(tmp_path: Path, clock: Clock) -> None:
    for body in (b"a", b"b"):
        engine = Engine(POLICIES, tmp_path, clock=clock)
        await engine.start()
        await engine.enqueue(engine.resolve("once"), [Incoming(body, "1")])
        found = await bodies(engine, engine.resolve("once"))
        await engine.stop()
        assert found == [b"a"]


async def test_the_history_shrinks_to_its_window(tmp_path: Path, clock: Clock) -> None:
    engine = Engine(POLICIES, tmp_path, clock=clock)
    await engine.start()
    once = engine.resolve("once")
    await engine.enqueue(once, [Incoming(b"", f"old-{number}") for number in range(500)])
    await clock.pass_by(100, engine)
    for number in range(30):
        await engine.enqueue(once, [Incoming(b"", f"new-{number}")])
    await engine.stop()
    with contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as database:
        assert database.execute("SELECT COUNT(*) FROM history").fetchone() == (30,)
