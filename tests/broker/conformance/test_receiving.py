"""Receiving"""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime, timedelta

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.desk import texts
from tests.broker.conformance.sdk import Service

_PATIENCE = 4.0
"""Seconds an iterator waits for the next message: enough on a busy machine."""


@behaviour
async def test_a_receive_gets_at_most_as_many_messages_as_it_asks_for(service: Service) -> None:
    async with service.desk() as desk, desk.another() as other:
        await desk.send_list(range(5))
        assert texts(await desk.receiver.receive_messages(3, max_wait_time=10)) == ["0", "1", "2"]
        assert texts(await other.receive(2)) == ["3", "4"]


@behaviour
async def test_a_receive_gives_what_is_there_without_waiting_for_more(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send_list(range(3))
        started = asyncio.get_running_loop().time()
        assert len(await desk.receiver.receive_messages(100, max_wait_time=60)) == 3
        assert asyncio.get_running_loop().time() - started < 60


@behaviour
async def test_a_receive_on_an_empty_queue_ends_with_nothing_after_its_wait(service: Service) -> None:
    async with service.desk() as desk:
        started = asyncio.get_running_loop().time()
        assert await desk.receiver.receive_messages(1, max_wait_time=1) == []
        assert asyncio.get_running_loop().time() - started >= 0.9
        await desk.send("x")
        assert str(await desk.one()) == "x"


@behaviour
async def test_a_waiting_receive_gets_a_message_sent_later(service: Service) -> None:
    async with service.desk() as desk:
        waiting = asyncio.create_task(desk.receiver.receive_messages(1, max_wait_time=30))
        await asyncio.sleep(0.5)
        assert not waiting.done()
        await desk.send("late")
        assert texts(await waiting) == ["late"]


@behaviour
async def test_messages_come_to_one_receiver_in_the_order_of_their_numbers(service: Service) -> None:
    async with service.desk(prefetch_count=40) as desk:
        await desk.send("0", "1")
        await desk.send_list(range(2, 30))
        await desk.send("30")
        got = await desk.as_they_come(31)
        assert texts(got) == [f"{n}" for n in range(31)]
        assert [m.sequence_number for m in got] == list(range(1, 32))


@behaviour
async def test_an_iterator_gives_messages_one_by_one_and_ends_after_its_wait(service: Service) -> None:
    async with service.desk(max_wait_time=_PATIENCE) as desk:
        await desk.send_list(range(4))
        got = []
        async for message in desk.receiver:
            got.append(str(message))
            await desk.receiver.complete_message(message)
        assert got == ["0", "1", "2", "3"]
        assert await desk.stored() == []


@behaviour
async def test_a_waiting_iterator_gets_a_message_sent_later(service: Service) -> None:
    async with service.desk(max_wait_time=30) as desk:

        async def first() -> str:
            async for message in desk.receiver:
                await desk.receiver.complete_message(message)
                return str(message)
            return "nothing came"

        waiting = asyncio.create_task(first())
        await asyncio.sleep(0.5)
        await desk.send("late")
        assert await waiting == "late"


@behaviour
async def test_an_iterator_that_was_left_can_be_taken_up_again(service: Service) -> None:
    async with service.desk(max_wait_time=_PATIENCE) as desk:
        await desk.send_list(range(6))
        got = []
        for _ in range(2):
            async for message in desk.receiver:
                got.append(str(message))
                await desk.receiver.complete_message(message)
                if len(got) == 3:
                    break
        assert got == [f"{n}" for n in range(6)]


@behaviour
async def test_receiving_and_iterating_take_turns_on_one_receiver(service: Service) -> None:
    async with service.desk(max_wait_time=_PATIENCE) as desk:
        await desk.send_list(range(4))
        got = texts(await desk.receive(2))
        got += [str(message) async for message in desk.receiver]
        assert got == ["0", "1", "2", "3"]


@behaviour
async def test_the_lock_token_is_the_delivery_tag_and_the_annotation(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x", "y")
        first, second = await desk.receive(2)
        assert isinstance(first.lock_token, uuid.UUID)
        assert first.lock_token == (first.raw_amqp_message.delivery_annotations or {})[b"x-opt-lock-token"]
        assert first.lock_token == uuid.UUID(bytes_le=first._delivery_tag)
        assert first.lock_token != second.lock_token


@behaviour
async def test_the_first_delivery_has_a_count_of_zero(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        assert (await desk.one()).delivery_count == 0


@behaviour
async def test_a_message_says_until_when_it_is_locked(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        before = datetime.now(UTC)
        message = await desk.one()
        until = message.locked_until_utc
        assert until is not None
        limit = datetime.now(UTC) + timedelta(seconds=30, milliseconds=2)
        assert before + timedelta(seconds=30, milliseconds=-2) <= until <= limit


@behaviour
async def test_a_locked_message_is_given_to_nobody_else(service: Service) -> None:
    async with service.desk() as desk, desk.another() as other:
        await desk.send("x")
        await desk.one()
        await other.assert_empty()


@behaviour
async def test_a_queue_is_found_whatever_the_case_of_its_name(service: Service) -> None:
    async with service.desk() as desk, desk.client.get_queue_sender(desk.queue.upper()) as sender:
        await sender.send_messages({"body": "x"})
        assert str(await desk.one()) == "x"


@behaviour
async def test_queues_do_not_see_each_other_s_messages(service: Service) -> None:
    async with service.desk() as one, service.desk() as two:
        await one.send("x")
        await two.assert_empty()
        assert await two.stored() == []
        assert await one.stored() == ["x"]
