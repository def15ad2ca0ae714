from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from devhost.faults.clock import BrokerClock, ClockTimeoutError
from devhost.servicebus.clock import ClockFileError, FollowedClock, Offsets, read_offsets, write_offsets
from devhost.servicebus.engine import Engine
from devhost.servicebus.model import Incoming, LockLostError, QueueRef, StorageFaultError
from tests.unit.devhost.servicebus.conftest import POLICIES
from tests.unit.devhost.servicebus.support import QUEUE, bodies, send, take


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "clock"


@asynccontextmanager
async def followed(clock: FollowedClock, moved: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    task = asyncio.create_task(clock.follow(moved))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


@asynccontextmanager
async def engine_under(file: Path, folder: Path) -> AsyncIterator[Engine]:
    clock = FollowedClock(file)
    engine = Engine(POLICIES, folder, clock=clock.queue_time)
    await engine.start()
    try:
        async with followed(clock, engine.clock_moved):
            yield engine
    finally:
        await engine.stop()


async def advance(file: Path, seconds: float) -> None:
    await asyncio.to_thread(BrokerClock(file).advance, seconds)


def test_without_a_file_time_is_the_system_s(file: Path) -> None:
    clock = FollowedClock(file, lambda: 1000.0)
    assert (clock.queue_time(), clock.token_time()) == (1000.0, 1000.0)


def test_one_number_moves_the_queues_alone(file: Path) -> None:
    file.write_text("-2.5")
    clock = FollowedClock(file, lambda: 1000.0)
    assert (clock.queue_time(), clock.token_time()) == (997.5, 1000.0)


def test_what_is_written_is_read(file: Path) -> None:
    write_offsets(file, Offsets(0.1, -1e9))
    assert read_offsets(file) == Offsets(0.1, -1e9)


@pytest.mark.parametrize("text", ["", "soon", "1 2 3", "nan", "inf", "1e12", "\u00e4"])
def test_a_file_that_says_no_time_is_refused(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(ClockFileError, match=str(file)):
        FollowedClock(file)


async def test_a_file_that_turns_bad_leaves_time_as_it_was(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FollowedClock(file, lambda: 1000.0)

    async def moved() -> None:
        pass

    async with followed(clock, moved):
        await advance(file, 60)
        file.write_text("soon")  # noqa: ASYNC240 - a few bytes
        while "time stays as it was" not in caplog.text:  # noqa: ASYNC110 - a log has no event
            await asyncio.sleep(0.01)
        assert clock.queue_time() == 1060.0
        write_offsets(file, Offsets(60))
        await advance(file, 1)
        assert clock.queue_time() == 1061.0
    assert caplog.text.count("time stays as it was") == 1


async def test_each_offset_moves_alone_and_both_go_back(file: Path) -> None:
    clock, hand = FollowedClock(file, lambda: 1000.0), BrokerClock(file)

    async def moved() -> None:
        pass

    async with followed(clock, moved):
        await asyncio.to_thread(hand.advance_tokens, 3600)
        await advance(file, 5)
        assert (clock.queue_time(), clock.token_time()) == (1005.0, 4600.0)
        await asyncio.to_thread(hand.reset)
        assert (clock.queue_time(), clock.token_time()) == (1000.0, 1000.0)


async def test_a_move_that_fails_is_tried_until_it_works_and_told_only_then(file: Path) -> None:
    tries = 0

    async def moved() -> None:
        nonlocal tries
        tries += 1
        if tries % 3:
            raise StorageFaultError("full")

    async with followed(FollowedClock(file), moved):
        await advance(file, 60)
    assert tries % 3 == 0


async def test_a_move_that_keeps_failing_is_logged_once_for_each_reason(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    enough = asyncio.Event()
    reasons = ["full"] * 3 + ["damaged"] * 3

    async def moved() -> None:
        if not reasons:
            enough.set()
            return
        raise StorageFaultError(reasons.pop(0))

    async with followed(FollowedClock(file), moved):
        await enough.wait()
    assert [message.split(": ")[1] for message in caplog.messages] == ["full", "damaged"]


async def test_a_folder_that_takes_no_answer_is_named_and_the_clock_followed_once_it_does(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    late = file.parent / "late" / "clock"

    async def moved() -> None:
        pass

    async with followed(FollowedClock(late), moved):
        while str(late) not in caplog.text:  # noqa: ASYNC110 - a log has no event
            await asyncio.sleep(0.01)
        late.parent.mkdir()
        await advance(late, 60)
    assert len(caplog.messages) == 1


def test_a_broker_that_does_not_follow_is_told_of(file: Path) -> None:
    hand = BrokerClock(file)
    hand.advance(60, timeout=None)
    with pytest.raises(ClockTimeoutError, match="is it running"):
        hand.advance(60, timeout=0.02)
    assert hand.offsets == Offsets(120)


async def test_a_waiting_receiver_is_woken_by_what_becomes_due(file: Path, tmp_path: Path) -> None:
    """Locks, schedules and times to live all end by the new time, without any other event."""
    async with engine_under(file, tmp_path) as engine:
        woken = asyncio.Event()
        await send(engine, QUEUE, b"locked")
        lock = await take(engine, QUEUE)
        later = lock.locked_until + 1000
        await engine.enqueue(QUEUE, [Incoming(b"scheduled", scheduled_for=later)])
        engine.subscribe(QUEUE, woken.set)
        await advance(file, 61)
        await asyncio.wait_for(woken.wait(), 60)
        again = await take(engine, QUEUE)
        assert (again.message.body, again.message.delivery_count) == (b"locked", 1)
        with pytest.raises(LockLostError):
            await engine.renew(QUEUE, [lock.token])
        await asyncio.sleep(0)
        woken.clear()
        await advance(file, 1100)
        await asyncio.wait_for(woken.wait(), 60)
        assert {lock.message.body for lock in await engine.receive(QUEUE, 5)} == {b"locked", b"scheduled"}


async def test_expiry_and_the_memory_of_duplicates_follow(file: Path, tmp_path: Path) -> None:
    once, dropping = QueueRef("once"), QueueRef("dropping")
    async with engine_under(file, tmp_path) as engine:
        await engine.enqueue(once, [Incoming(b"first", "id")])
        await send(engine, dropping, b"ten seconds")
        await advance(file, 99)
        assert await bodies(engine, dropping) == []
        await engine.enqueue(once, [Incoming(b"within the window", "id")])
        await advance(file, 2)
        await engine.enqueue(once, [Incoming(b"after it", "id")])
        assert await bodies(engine, once) == [b"first", b"after it"]


async def test_time_set_back_breaks_nothing_and_does_nothing_twice(file: Path, tmp_path: Path) -> None:
    once = QueueRef("once")
    async with engine_under(file, tmp_path) as engine:
        await advance(file, 1000)
        await send(engine, QUEUE, b"a", b"b", b"c")
        lock = await take(engine, QUEUE)
        await engine.enqueue(once, [Incoming(b"x", "id")])
        await advance(file, -5000)
        with_lock = await engine.renew(QUEUE, [lock.token])
        assert with_lock[0] < lock.locked_until
        await engine.enqueue(once, [Incoming(b"y", "id")])
        assert await bodies(engine, once) == [b"x"]
        assert [lock.message.body for lock in await engine.receive(QUEUE, 5)] == [b"b", b"c"]
        await advance(file, 61)
        assert [lock.message.delivery_count for lock in await engine.receive(QUEUE, 5)] == [1, 1, 1]
        assert await send(engine, QUEUE, b"d") == [4]
