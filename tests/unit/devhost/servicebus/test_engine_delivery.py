from __future__ import annotations

import asyncio
import uuid

import pytest

from devhost.servicebus.engine import Engine
from devhost.servicebus.model import (
    Abandon,
    Complete,
    EntityNotFoundError,
    Incoming,
    MessageId,
    MessageState,
    NotAllowedError,
    QueueCounts,
    QueueRef,
    ReceiveMode,
)
from tests.unit.devhost.servicebus.support import Clock, bodies, contents, send, take


async def test_numbers_start_at_one_and_follow_the_order_given(engine: Engine, queue: QueueRef) -> None:
    assert await send(engine, queue, b"a", b"b") == [1, 2]
    assert await send(engine, queue, b"c") == [3]
    assert contents(await engine.receive(queue, 10)) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("message_id", ["text", "\udc80", uuid.UUID(int=7), b"\x00raw", 2**63, None])
async def test_a_message_comes_back_as_it_was_sent(
    engine: Engine, queue: QueueRef, clock: Clock, message_id: MessageId | None
) -> None:
    await engine.enqueue(queue, [Incoming(b"\x00\xff", message_id, ttl_ms=5000)])
    lock = await take(engine, queue)
    message = lock.message
    assert (message.body, message.message_id, message.ttl_ms) == (b"\x00\xff", message_id, 5000)
    assert type(message.message_id) is type(message_id)
    assert (message.sequence_number, message.enqueue_sequence_number, message.delivery_count) == (1, 1, 0)
    assert (message.state, message.enqueued_at, message.dead_letter) == (MessageState.ACTIVE, clock.now, None)
    assert lock.locked_until == clock.now + 60


async def test_a_locked_message_is_not_given_twice(engine: Engine, queue: QueueRef) -> None:
    await send(engine, queue, b"a", b"b")
    first, second = await asyncio.gather(engine.receive(queue, 1), engine.receive(queue, 1))
    assert sorted(contents([*first, *second])) == [b"a", b"b"]
    assert await engine.receive(queue, 1) == []


async def test_an_abandoned_message_returns_to_its_place(engine: Engine, queue: QueueRef) -> None:
    await send(engine, queue, b"a", b"b")
    lock = await take(engine, queue)
    await engine.settle(queue, lock.token, Abandon())
    assert contents(await engine.receive(queue, 5)) == [b"a", b"b"]


async def test_receive_and_delete_leaves_nothing(engine: Engine, queue: QueueRef) -> None:
    await send(engine, queue, b"a", b"b")
    taken = await engine.receive(queue, 5, ReceiveMode.RECEIVE_AND_DELETE)
    assert [message.body for message in taken] == [b"a", b"b"]
    assert await bodies(engine, queue) == []


async def test_large_bodies_come_in_portions_until_an_empty_answer(engine: Engine, queue: QueueRef) -> None:
    await send(engine, queue, *[b"x" * 250_000] * 40)
    portions = []
    while found := await engine.receive(queue, 1000):
        portions.append(len(found))
    assert sum(portions) == 40
    assert max(portions) <= 16


async def test_a_limit_below_one_gives_nothing(engine: Engine, queue: QueueRef) -> None:
    await send(engine, queue, b"a")
    assert await engine.receive(queue, 0) == []
    assert await engine.receive(queue, -1) == []
    assert await engine.peek(queue, 0, -1) == []


async def test_locks_taken_for_a_cancelled_caller_are_given_back_uncounted(
    engine: Engine, queue: QueueRef
) -> None:
    await send(engine, queue, b"a")
    waiting = asyncio.create_task(engine.receive(queue, 1))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    freed = asyncio.Event()
    engine.subscribe(queue, freed.set)
    if (await engine.counts(queue)).active == 0:
        await asyncio.wait_for(freed.wait(), 60)
    assert (await take(engine, queue)).message.delivery_count == 0


async def test_peek_shows_every_state_and_changes_nothing(
    engine: Engine, queue: QueueRef, clock: Clock
) -> None:
    await send(engine, queue, b"locked", b"active")
    await engine.schedule(queue, [Incoming(b"later", scheduled_for=clock.now + 9)])
    await take(engine, queue)
    before = await engine.counts(queue)
    seen = await engine.peek(queue, 1, 10)
    assert [(message.body, message.state) for message in seen] == [
        (b"locked", MessageState.ACTIVE),
        (b"active", MessageState.ACTIVE),
        (b"later", MessageState.SCHEDULED),
    ]
    assert [message.body for message in await engine.peek(queue, 2, 1)] == [b"active"]
    assert await engine.counts(queue) == before == QueueCounts(active=1, locked=1, scheduled=1)


async def test_peek_keeps_to_the_room_it_is_given(engine: Engine, queue: QueueRef) -> None:
    await send(engine, queue, *[b"x" * 10_000] * 5)
    assert len(await engine.peek(queue, 1, 5, max_bytes=25_000)) == 2
    assert len(await engine.peek(queue, 1, 5, max_bytes=1)) == 1


async def test_nothing_is_sent_to_a_dead_letter_queue(engine: Engine, dead: QueueRef) -> None:
    with pytest.raises(NotAllowedError):
        await send(engine, dead, b"a")
    assert await bodies(engine, dead) == []


async def test_an_unknown_queue_is_an_error(engine: Engine) -> None:
    with pytest.raises(EntityNotFoundError):
        await send(engine, QueueRef("nowhere"), b"a")


async def test_subscribers_hear_of_what_becomes_available(engine: Engine, queue: QueueRef) -> None:
    heard = asyncio.Event()
    engine.subscribe(queue, heard.set)
    await send(engine, queue, b"a")
    await asyncio.wait_for(heard.wait(), 60)
    lock = await take(engine, queue)
    heard.clear()
    await engine.settle(queue, lock.token, Abandon())
    await asyncio.wait_for(heard.wait(), 60)
    heard.clear()
    engine.unsubscribe(queue, heard.set)
    await send(engine, queue, b"b")
    await asyncio.sleep(0)
    assert not heard.is_set()


async def test_a_completed_message_is_announced_to_nobody(engine: Engine, queue: QueueRef) -> None:
    await send(engine, queue, b"a")
    lock = await take(engine, queue)
    heard: list[int] = []
    engine.subscribe(queue, lambda: heard.append(1))
    await engine.settle(queue, lock.token, Complete())
    await asyncio.sleep(0)
    assert heard == []


async def test_a_subscriber_that_fails_does_not_stop_the_engine(engine: Engine, queue: QueueRef) -> None:
    loop = asyncio.get_running_loop()
    faults: list[object] = []
    loop.set_exception_handler(lambda _, context: faults.append(context["exception"]))

    def fail() -> None:
        raise IndexError

    engine.subscribe(queue, fail)
    await send(engine, queue, b"a")
    assert contents(await engine.receive(queue, 1)) == [b"a"]
    assert [type(fault) for fault in faults] == [IndexError]
