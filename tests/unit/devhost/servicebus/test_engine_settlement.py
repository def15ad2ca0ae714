from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from devhost.servicebus.engine import Engine
from devhost.servicebus.model import (
    Abandon,
    Complete,
    DeadLetter,
    DeadLetterInfo,
    Defer,
    LockLostError,
    MessageNotFoundError,
    MessageState,
    NotAllowedError,
    QueueCounts,
    QueueRef,
    ReceiveMode,
    Release,
)
from tests.unit.devhost.servicebus.conftest import POLICIES
from tests.unit.devhost.servicebus.support import Clock, bodies, send, take


async def test_a_completed_message_is_gone(engine: Engine, queue: QueueRef) -> None:
    await send(engine, queue, b"a")
    lock = await take(engine, queue)
    await engine.settle(queue, lock.token, Complete())
    assert await bodies(engine, queue) == []
    with pytest.raises(LockLostError):
        await engine.settle(queue, lock.token, Complete())


async def test_a_token_is_good_for_its_own_queue_only(
    engine: Engine, queue: QueueRef, dead: QueueRef
) -> None:
    await send(engine, queue, b"a")
    lock = await take(engine, queue)
    for other in (dead, engine.resolve("dropping")):
        with pytest.raises(LockLostError):
            await engine.settle(other, lock.token, Complete())
    with pytest.raises(LockLostError):
        await engine.settle(queue, uuid.uuid4(), Complete())
    await engine.settle(queue, lock.token, Complete())


async def test_abandon_counts_and_release_does_not(engine: Engine, queue: QueueRef) -> None:
    await send(engine, queue, b"a")
    counts = []
    for disposition in (Release(), Abandon(), Release(), Complete()):
        lock = await take(engine, queue)
        counts.append(lock.message.delivery_count)
        await engine.settle(queue, lock.token, disposition)
    assert counts == [0, 0, 1, 1]


async def test_after_the_last_delivery_fails_the_message_is_a_dead_letter(
    engine: Engine, queue: QueueRef, dead: QueueRef
) -> None:
    await send(engine, queue, b"other", b"a")
    await engine.settle(queue, (await take(engine, queue)).token, Complete())
    for count in range(3):
        lock = await take(engine, queue)
        assert lock.message.delivery_count == count
        await engine.settle(queue, lock.token, Abandon())
    assert await engine.receive(queue, 1) == []
    message = (await take(engine, dead)).message
    assert (message.body, message.sequence_number, message.enqueue_sequence_number) == (b"a", 1, 2)
    assert message.dead_letter is not None
    assert message.dead_letter.reason == "MaxDeliveryCountExceeded"
    assert "3 delivery attempts" in (message.dead_letter.description or "")


async def test_a_dead_letter_keeps_its_reason_and_source(
    engine: Engine, queue: QueueRef, dead: QueueRef, clock: Clock
) -> None:
    sent_at = clock.now
    await send(engine, queue, b"a", b"b")
    for reason, text in (("unfit", "no pages"), (None, None)):
        lock = await take(engine, queue)
        await clock.pass_by(1, engine)
        await engine.settle(queue, lock.token, DeadLetter(reason, text))
    first, second = await engine.receive(dead, 5)
    assert first.message.dead_letter == DeadLetterInfo("unfit", "no pages", "Jobs")
    assert second.message.dead_letter == DeadLetterInfo(None, None, "Jobs")
    assert first.message.enqueued_at == sent_at
    assert await engine.counts(queue) == QueueCounts(dead_lettered=2)


async def test_a_dead_letter_is_delivered_again_and_again_but_not_dead_lettered(
    engine: Engine, queue: QueueRef, dead: QueueRef
) -> None:
    await send(engine, queue, b"a")
    await engine.settle(queue, (await take(engine, queue)).token, DeadLetter())
    for count in range(5):
        lock = await take(engine, dead)
        assert lock.message.delivery_count == count
        await engine.settle(dead, lock.token, Abandon())
    lock = await take(engine, dead)
    with pytest.raises(NotAllowedError):
        await engine.settle(dead, lock.token, DeadLetter())
    await engine.settle(dead, lock.token, Complete())
    assert await bodies(engine, dead) == []


async def test_a_deferred_message_is_had_by_its_number_only(engine: Engine, queue: QueueRef) -> None:
    await send(engine, queue, b"a", b"b")
    await engine.settle(queue, (await take(engine, queue)).token, Defer())
    assert [lock.message.body for lock in await engine.receive(queue, 5)] == [b"b"]
    (lock,) = await engine.receive_deferred(queue, [1])
    assert (lock.message.body, lock.message.delivery_count) == (b"a", 1)
    assert lock.message.state is MessageState.DEFERRED
    await engine.settle(queue, lock.token, Abandon())
    (gone,) = await engine.receive_deferred(queue, [1], ReceiveMode.RECEIVE_AND_DELETE)
    assert gone.delivery_count == 2
    assert await bodies(engine, queue) == [b"b"]


async def test_deferred_messages_come_all_or_none_in_the_order_asked(engine: Engine, queue: QueueRef) -> None:
    await send(engine, queue, b"a", b"b", b"active")
    for _ in range(2):
        await engine.settle(queue, (await take(engine, queue)).token, Defer())
    for numbers in ([1, 99], [1, 3]):
        with pytest.raises(MessageNotFoundError):
            await engine.receive_deferred(queue, numbers)
    assert (await engine.counts(queue)).locked == 0
    found = await engine.receive_deferred(queue, [2, 1])
    assert [lock.message.body for lock in found] == [b"b", b"a"]
    with pytest.raises(MessageNotFoundError):
        await engine.receive_deferred(queue, [1])


async def test_renewing_extends_from_now(engine: Engine, queue: QueueRef, clock: Clock) -> None:
    await send(engine, queue, b"a", b"b")
    tokens = [lock.token for lock in await engine.receive(queue, 2)]
    await clock.pass_by(59, engine)
    assert await engine.renew(queue, tokens) == [clock.now + 60] * 2
    await clock.pass_by(59, engine)
    assert await engine.receive(queue, 2) == []
    with pytest.raises(LockLostError):
        await engine.renew(queue, [tokens[0], uuid.uuid4()])
    await clock.pass_by(1, engine)
    with pytest.raises(LockLostError):
        await engine.settle(queue, tokens[0], Complete())


async def test_locks_counts_and_numbers_outlive_the_engine(tmp_path: Path, clock: Clock) -> None:
    first = Engine(POLICIES, tmp_path, clock=clock)
    await first.start()
    queue = first.resolve("jobs")
    await send(first, queue, b"a", b"b")
    await first.settle(queue, (await take(first, queue)).token, Abandon())
    held = await take(first, queue)
    await first.stop()

    second = Engine(POLICIES, tmp_path, clock=clock)
    await second.start()
    assert await second.renew(queue, [held.token]) == [clock.now + 60]
    await second.settle(queue, held.token, Abandon())
    lock = await take(second, queue)
    assert (lock.message.body, lock.message.delivery_count) == (b"a", 2)
    assert await send(second, queue, b"c") == [3]
    await second.stop()
