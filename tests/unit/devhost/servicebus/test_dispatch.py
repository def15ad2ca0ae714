"""Sharing a queue among receivers, on a real engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from devhost.servicebus.dispatch import QueueDispatcher
from devhost.servicebus.engine import Engine
from devhost.servicebus.model import Incoming, Locked, QueuePolicy, QueueRef, ReceiveMode, Stored

QUEUE = QueueRef("q")


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    engine = Engine([QueuePolicy("q")], tmp_path)
    await engine.start()
    yield engine
    await engine.stop()


class Receiver:
    """A link with credit that notes what it gets."""

    def __init__(self, credit: int, mode: ReceiveMode = ReceiveMode.PEEK_LOCK) -> None:
        self.credit = credit
        self.mode = mode
        self.got: list[Locked | Stored] = []
        self.drained = 0
        self.after: Callable[[], None] = lambda: None

    def wants(self) -> int:
        return self.credit

    def deliver_locked(self, locked: Locked) -> None:
        self._take(locked)

    def deliver_plain(self, stored: Stored) -> None:
        self._take(stored)

    def nothing_left(self) -> None:
        self.drained += 1

    def _take(self, message: Locked | Stored) -> None:
        self.credit -= 1
        self.got.append(message)
        self.after()


def spawn(work: Coroutine[Any, Any, None]) -> None:
    tasks.add(task := asyncio.get_running_loop().create_task(work))
    task.add_done_callback(tasks.discard)


tasks: set[asyncio.Task[None]] = set()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - the receiver under test has no event of its own
            await asyncio.sleep(0.005)


async def send(engine: Engine, count: int) -> None:
    await engine.enqueue(QUEUE, [Incoming(b"x") for _ in range(count)])


async def test_receivers_with_credit_take_turns(engine: Engine) -> None:
    dispatcher = QueueDispatcher(engine, QUEUE, spawn)
    receivers = [Receiver(10), Receiver(10), Receiver(2)]
    for receiver in receivers:
        dispatcher.add(receiver)
    await send(engine, 12)
    await until(lambda: sum(len(r.got) for r in receivers) == 12)
    assert [len(r.got) for r in receivers] == [5, 5, 2]
    dispatcher.stop()


async def test_credit_is_never_exceeded_and_the_rest_stays_unlocked(engine: Engine) -> None:
    dispatcher = QueueDispatcher(engine, QUEUE, spawn)
    receiver = Receiver(3)
    dispatcher.add(receiver)
    await send(engine, 5)
    await until(lambda: len(receiver.got) == 3)
    assert (await engine.counts(QUEUE)).active == 2
    dispatcher.stop()


async def test_a_message_fetched_for_a_receiver_that_lost_interest_is_given_back_uncounted(
    engine: Engine,
) -> None:
    dispatcher = QueueDispatcher(engine, QUEUE, spawn)
    receiver = Receiver(4)

    def lose_interest() -> None:
        receiver.credit = 0

    receiver.after = lose_interest
    await send(engine, 4)
    dispatcher.add(receiver)
    dispatcher.wake()
    await until(lambda: len(receiver.got) == 1 and not tasks)
    assert (await engine.counts(QUEUE)).active == 3
    (again,) = await engine.receive(QUEUE, 1)
    assert again.message.delivery_count == 0
    dispatcher.stop()


async def test_both_modes_are_served_side_by_side(engine: Engine) -> None:
    dispatcher = QueueDispatcher(engine, QUEUE, spawn)
    locking, deleting = Receiver(1), Receiver(1, ReceiveMode.RECEIVE_AND_DELETE)
    dispatcher.add(locking)
    dispatcher.add(deleting)
    await send(engine, 2)
    await until(lambda: len(locking.got) == len(deleting.got) == 1)
    assert isinstance(locking.got[0], Locked)
    assert isinstance(deleting.got[0], Stored)
    counts = await engine.counts(QUEUE)
    assert (counts.locked, counts.active) == (1, 0)
    dispatcher.stop()


async def test_an_empty_queue_is_told_to_those_who_wait(engine: Engine) -> None:
    dispatcher = QueueDispatcher(engine, QUEUE, spawn)
    receiver = Receiver(1)
    dispatcher.add(receiver)
    dispatcher.wake()
    await until(lambda: receiver.drained > 0)
    dispatcher.stop()


async def test_nothing_is_taken_after_the_last_receiver_left(engine: Engine) -> None:
    dispatcher = QueueDispatcher(engine, QUEUE, spawn)
    receiver = Receiver(5)
    dispatcher.add(receiver)
    dispatcher.remove(receiver)
    dispatcher.remove(receiver)
    await send(engine, 1)
    await asyncio.sleep(0.05)
    assert (await engine.counts(QUEUE)).active == 1
    dispatcher.add(receiver)
    dispatcher.wake()
    await until(lambda: len(receiver.got) == 1)
    dispatcher.stop()
