from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from devhost.servicebus.engine import Engine
from devhost.servicebus.model import (
    Complete,
    Defer,
    EntityNotFoundError,
    Incoming,
    LockLostError,
    MessageNotFoundError,
    MessageState,
    QueuePolicy,
    QueueRef,
    Release,
)
from tests.unit.devhost.servicebus.conftest import POLICIES
from tests.unit.devhost.servicebus.support import Clock, bodies, running, send, take


async def test_a_lock_that_ends_counts_and_frees_the_message(
    engine: Engine, queue: QueueRef, dead: QueueRef, clock: Clock
) -> None:
    await send(engine, queue, b"a")
    for count in range(3):
        lock = await take(engine, queue)
        assert lock.message.delivery_count == count
        await clock.pass_by(60, engine)
        with pytest.raises(LockLostError):
            await engine.settle(queue, lock.token, Complete())
    assert await bodies(engine, queue) == []
    assert (await take(engine, dead)).message.delivery_count == 3


async def test_a_lock_is_lost_at_its_end_even_before_the_timer_rings(
    engine: Engine, queue: QueueRef, clock: Clock
) -> None:
    await send(engine, queue, b"a")
    lock = await take(engine, queue)
    clock.now += 60
    with pytest.raises(LockLostError):
        await engine.settle(queue, lock.token, Complete())
    assert (await take(engine, queue)).message.delivery_count == 1


async def test_an_expired_message_becomes_a_dead_letter_where_asked(
    engine: Engine, queue: QueueRef, dead: QueueRef, clock: Clock
) -> None:
    await send(engine, queue, b"a", ttl_ms=5000)
    await clock.pass_by(4.999, engine)
    assert await bodies(engine, queue) == [b"a"]
    await clock.pass_by(0.001, engine)
    assert await engine.receive(queue, 1) == []
    message = (await take(engine, dead)).message
    assert message.dead_letter is not None
    assert (message.dead_letter.reason, message.ttl_ms) == ("TTLExpiredException", 5000)


async def test_an_expired_message_is_dropped_elsewhere(engine: Engine, clock: Clock) -> None:
    queue, dead = engine.resolve("dropping"), engine.resolve("dropping/$deadletterqueue")
    await send(engine, queue, b"a", ttl_ms=60_000)
    await clock.pass_by(10, engine)
    assert await bodies(engine, queue) == await bodies(engine, dead) == []


async def test_time_to_live_is_not_observed_among_dead_letters(
    engine: Engine, queue: QueueRef, dead: QueueRef, clock: Clock
) -> None:
    await send(engine, queue, b"a", ttl_ms=1000)
    await clock.pass_by(1, engine)
    await clock.pass_by(1_000_000, engine)
    assert await bodies(engine, dead) == [b"a"]


async def test_a_message_that_expires_under_its_lock_can_be_completed(
    engine: Engine, queue: QueueRef, dead: QueueRef, clock: Clock
) -> None:
    await send(engine, queue, b"a", ttl_ms=1000)
    lock = await take(engine, queue)
    await clock.pass_by(30, engine)
    await engine.settle(queue, lock.token, Complete())
    assert await bodies(engine, queue) == await bodies(engine, dead) == []


async def test_an_expired_deferred_message_leaves_when_it_is_asked_for(
    engine: Engine, queue: QueueRef, dead: QueueRef, clock: Clock
) -> None:
    await send(engine, queue, b"a", ttl_ms=1000)
    await engine.settle(queue, (await take(engine, queue)).token, Defer())
    await clock.pass_by(30, engine)
    assert await bodies(engine, queue) == [b"a"]
    with pytest.raises(MessageNotFoundError):
        await engine.receive_deferred(queue, [1])
    assert await bodies(engine, dead) == [b"a"]


async def test_a_scheduled_message_joins_the_end_of_the_queue_in_time(
    engine: Engine, queue: QueueRef, clock: Clock
) -> None:
    due = clock.now + 5
    (number,) = await engine.schedule(queue, [Incoming(b"later", scheduled_for=due)])
    await send(engine, queue, b"now")
    (waiting,) = await engine.peek(queue, number, 1)
    assert (waiting.state, waiting.enqueued_at) == (MessageState.SCHEDULED, due)
    heard = asyncio.Event()
    engine.subscribe(queue, heard.set)
    await clock.pass_by(5, engine)
    await asyncio.wait_for(heard.wait(), 60)
    first, second = await engine.receive(queue, 5)
    assert [first.message.body, second.message.body] == [b"now", b"later"]
    assert (second.message.sequence_number, second.message.enqueue_sequence_number) == (3, number)
    assert second.message.enqueued_at == due


async def test_scheduled_messages_are_cancelled_all_or_none(
    engine: Engine, queue: QueueRef, clock: Clock
) -> None:
    later = [Incoming(b"x", scheduled_for=clock.now + 5), Incoming(b"y", scheduled_for=clock.now + 9)]
    first, second = await engine.schedule(queue, later)
    (active,) = await send(engine, queue, b"now")
    for numbers in ([first, 99], [first, active]):
        with pytest.raises(MessageNotFoundError):
            await engine.cancel_scheduled(queue, numbers)
    assert (await engine.counts(queue)).scheduled == 2
    await engine.cancel_scheduled(queue, [second])
    await clock.pass_by(5, engine)
    with pytest.raises(MessageNotFoundError):
        await engine.cancel_scheduled(queue, [first])
    assert await bodies(engine, queue) == [b"now", b"x"]


async def test_more_than_a_transaction_holds_can_be_due_at_once(
    engine: Engine, queue: QueueRef, dead: QueueRef, clock: Clock
) -> None:
    await send(engine, queue, *[b"a"] * 1700, ttl_ms=1000)
    await clock.pass_by(1, engine)
    assert (await engine.counts(queue)).dead_lettered == 1700


async def test_what_fell_due_while_the_broker_was_down_is_done_at_its_start(
    tmp_path: Path, clock: Clock
) -> None:
    first = Engine(POLICIES, tmp_path, clock=clock)
    await first.start()
    queue = first.resolve("jobs")
    await first.enqueue(queue, [Incoming(b"later", scheduled_for=clock.now + 5), Incoming(b"held")])
    await take(first, queue)
    await first.stop()
    clock.now += 100
    second = Engine(POLICIES, tmp_path, clock=clock)
    await second.start()
    held, later = await second.receive(queue, 5)
    assert (held.message.body, held.message.delivery_count) == (b"held", 1)
    assert (later.message.body, later.message.enqueued_at) == (b"later", clock.now)
    await second.stop()


async def test_a_queue_taken_out_of_the_configuration_rests_until_it_is_back(
    tmp_path: Path, clock: Clock
) -> None:
    queue = QueueRef("Jobs")
    async with running(POLICIES, tmp_path, clock) as engine:
        await send(engine, queue, b"short", ttl_ms=1000)
        await send(engine, queue, b"held")
        await clock.pass_by(0.5, engine)
        await engine.settle(queue, (await take(engine, queue)).token, Release())
        assert len(await engine.receive(queue, 5)) == 2
    async with running(POLICIES[1:], tmp_path, clock) as engine:
        await clock.pass_by(100, engine)
        with pytest.raises(EntityNotFoundError):
            engine.resolve("jobs")
    async with running(POLICIES, tmp_path, clock) as engine:
        counts = await engine.counts(queue)
        assert (counts.active, counts.locked, counts.dead_lettered) == (1, 0, 1)
        assert (await take(engine, queue)).message.body == b"held"


async def test_the_timer_does_what_is_due_by_itself(tmp_path: Path) -> None:
    engine = Engine([QueuePolicy("q", lock_seconds=0.2)], tmp_path)
    await engine.start()
    queue = engine.resolve("q")
    heard = asyncio.Event()
    engine.subscribe(queue, heard.set)
    await engine.enqueue(queue, [Incoming(b"later", scheduled_for=time.time() + 0.2)])
    await asyncio.wait_for(heard.wait(), 60)
    heard.clear()
    await take(engine, queue)
    await asyncio.wait_for(heard.wait(), 60)
    assert (await take(engine, queue)).message.delivery_count == 1
    await engine.stop()
