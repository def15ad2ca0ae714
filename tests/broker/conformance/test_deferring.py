"""Deferring"""

from __future__ import annotations

import asyncio

import pytest
from azure.servicebus import ServiceBusMessageState, ServiceBusReceiveMode
from azure.servicebus.exceptions import MessageLockLostError, MessageNotFoundError

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.desk import texts
from tests.broker.conformance.sdk import Service

AT_ONCE = {"retry_total": 0}
"""The SDK repeats a request for messages that are not there."""


@behaviour
async def test_a_deferred_message_does_not_come_by_itself(service: Service) -> None:
    async with service.desk() as desk:
        await desk.deferred("x")
        await desk.assert_empty()
        assert await desk.stored() == ["x"]


@behaviour
async def test_a_deferred_message_is_had_by_its_number_and_completed(service: Service) -> None:
    async with service.desk() as desk:
        (number,) = await desk.deferred("x")
        (message,) = await desk.fetch(number)
        assert (str(message), message.sequence_number) == ("x", number)
        assert message.state is ServiceBusMessageState.DEFERRED
        await desk.receiver.complete_message(message)
        assert await desk.stored() == []


@behaviour
async def test_deferring_counts_as_a_delivery(service: Service) -> None:
    async with service.desk() as desk:
        (number,) = await desk.deferred("x")
        assert [m.delivery_count for m in await desk.fetch(number)] == [1]


@behaviour
async def test_several_deferred_messages_come_in_the_order_asked_for(service: Service) -> None:
    async with service.desk() as desk:
        first, second, third = await desk.deferred("a", "b", "c")
        assert texts(await desk.fetch(third, first, second)) == ["c", "a", "b"]


@behaviour
async def test_a_deferred_message_may_be_dead_lettered(service: Service) -> None:
    async with service.desk() as desk:
        (message,) = await desk.fetch(*await desk.deferred("x"))
        await desk.receiver.dead_letter_message(message, reason="r", error_description="d")
        (dead,) = await desk.dead_letters()
        assert (dead.dead_letter_reason, dead.dead_letter_error_description) == ("r", "d")
        assert dead.state is ServiceBusMessageState.ACTIVE


@behaviour
async def test_an_abandoned_deferred_message_stays_deferred(service: Service) -> None:
    async with service.desk() as desk:
        (number,) = await desk.deferred("x")
        (message,) = await desk.fetch(number)
        await desk.receiver.abandon_message(message)
        await desk.assert_empty()
        (message,) = await desk.fetch(number)
        assert message.delivery_count == 2


@behaviour
async def test_a_deferred_message_may_be_deferred_again(service: Service) -> None:
    async with service.desk() as desk:
        (number,) = await desk.deferred("x")
        (message,) = await desk.fetch(number)
        await desk.receiver.defer_message(message)
        assert texts(await desk.fetch(number)) == ["x"]


@behaviour
async def test_a_deferred_message_whose_lock_runs_out_stays_deferred(service: Service) -> None:
    async with service.desk("short") as desk:
        (number,) = await desk.deferred("x")
        (message,) = await desk.fetch(number)
        await desk.assert_empty(2.5)
        (again,) = await desk.fetch(number)
        assert again.lock_token != message.lock_token
        (message._raw_amqp_message.annotations or {}).pop(b"x-opt-locked-until", None)
        with pytest.raises(MessageLockLostError):
            await desk.receiver.complete_message(message)


@behaviour
async def test_the_lock_of_a_deferred_message_is_renewed(service: Service) -> None:
    async with service.desk() as desk:
        (message,) = await desk.fetch(*await desk.deferred("x"))
        before = message.locked_until_utc
        assert before is not None
        await asyncio.sleep(0.05)
        assert await desk.receiver.renew_message_lock(message) > before


@behaviour
async def test_a_deferred_message_is_deleted_by_a_receiver_that_deletes(service: Service) -> None:
    async with service.desk() as desk:
        numbers = await desk.deferred("a", "b")
        async with desk.another(receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE) as deleting:
            got = await deleting.fetch(*numbers)
            assert texts(got) == ["a", "b"]
            assert [m.lock_token for m in got] == [None, None]
        assert await desk.stored() == []


@behaviour
async def test_a_deferred_message_may_be_fetched_and_settled_by_another_client(service: Service) -> None:
    async with service.desk() as desk:
        (number,) = await desk.deferred("x")
        async with service.receiver(desk.queue) as other:
            (message,) = await other.fetch(number)
            await other.receiver.complete_message(message)
        assert await desk.stored() == []


@behaviour
async def test_asking_for_a_number_that_is_not_there_is_an_error(service: Service) -> None:
    async with (
        service.client(**AT_ONCE) as client,
        client.get_queue_receiver(service.queue()) as receiver,
    ):
        with pytest.raises(MessageNotFoundError):
            await receiver.receive_deferred_messages([5])


@behaviour
async def test_a_message_that_is_not_deferred_is_not_had_by_its_number(service: Service) -> None:
    async with service.desk() as desk, service.client(**AT_ONCE) as client:
        await desk.send("x")
        async with client.get_queue_receiver(desk.queue) as receiver:
            with pytest.raises(MessageNotFoundError):
                await receiver.receive_deferred_messages([1])
        assert str(await desk.one()) == "x"


@behaviour
async def test_deferred_messages_are_had_all_or_none(service: Service) -> None:
    async with service.desk() as desk, service.client(**AT_ONCE) as client:
        (number,) = await desk.deferred("x")
        async with client.get_queue_receiver(desk.queue) as receiver:
            with pytest.raises(MessageNotFoundError):
                await receiver.receive_deferred_messages([number, 77])
        assert texts(await desk.fetch(number)) == ["x"]


@behaviour
async def test_a_deferred_message_in_hand_is_not_given_twice(service: Service) -> None:
    async with service.desk() as desk, service.client(**AT_ONCE) as client:
        (number,) = await desk.deferred("x")
        await desk.fetch(number)
        async with client.get_queue_receiver(desk.queue) as receiver:
            with pytest.raises(MessageNotFoundError):
                await receiver.receive_deferred_messages([number])


@behaviour
async def test_a_dead_letter_may_be_deferred_too(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        await desk.receiver.dead_letter_message(await desk.one())
        async with desk.below() as below:
            dead = await below.one()
            await below.receiver.defer_message(dead)
            await below.assert_empty()
            assert texts(await below.fetch(dead.sequence_number or 0)) == ["x"]
