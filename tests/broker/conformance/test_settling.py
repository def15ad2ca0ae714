"""Settling"""

from __future__ import annotations

import asyncio

import pytest
from azure.servicebus.exceptions import MessageAlreadySettled, MessageLockLostError

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.desk import texts
from tests.broker.conformance.sdk import Service


@behaviour
async def test_a_completed_message_is_gone(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        await desk.receiver.complete_message(await desk.one())
        assert await desk.stored() == []


@behaviour
async def test_an_abandoned_message_comes_again_and_counts(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        for expected in (0, 1):
            message = await desk.one()
            assert message.delivery_count == expected
            await desk.receiver.abandon_message(message)
        assert (await desk.one()).delivery_count == 2


@behaviour
async def test_an_abandoned_message_keeps_its_number_and_comes_before_later_ones(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("first", "second")
        await desk.receiver.abandon_message(await desk.one())
        assert [(str(m), m.sequence_number) for m in await desk.receive(2)] == [("first", 1), ("second", 2)]


@behaviour
async def test_a_message_is_settled_only_once(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        message = await desk.one()
        await desk.receiver.complete_message(message)
        for again in (
            desk.receiver.complete_message,
            desk.receiver.abandon_message,
            desk.receiver.defer_message,
            desk.receiver.dead_letter_message,
            desk.receiver.renew_message_lock,
        ):
            with pytest.raises(MessageAlreadySettled):
                await again(message)


@behaviour
async def test_a_second_settlement_that_the_client_lets_through_is_told_as_a_lost_lock(
    service: Service,
) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        message = await desk.one()
        await desk.receiver.complete_message(message)
        message._settled = False
        with pytest.raises(MessageLockLostError):
            await desk.receiver.complete_message(message)


@behaviour
async def test_many_settlements_are_each_confirmed(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send_list(range(50))
        for number, message in enumerate(await desk.receive(50)):
            settle = (
                desk.receiver.complete_message,
                desk.receiver.dead_letter_message,
                desk.receiver.defer_message,
            )[number % 3]
            await settle(message)
        assert await desk.stored() == [f"{n}" for n in range(50) if n % 3 == 2]
        async with desk.below() as below:
            assert await below.stored() == [f"{n}" for n in range(50) if n % 3 == 1]


@behaviour
async def test_messages_are_settled_in_any_order(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send_list(range(6))
        got = await desk.receive(6)
        for at in (5, 0, 3):
            await desk.receiver.complete_message(got[at])
        assert await desk.stored() == ["1", "2", "4"]
        for at in (4, 1, 2):
            await desk.receiver.complete_message(got[at])
        assert await desk.stored() == []


@behaviour
async def test_a_message_may_be_settled_by_another_receiver(service: Service) -> None:
    async with service.desk() as desk, desk.another() as other:
        await desk.send("complete", "abandon", "dead-letter", "defer")
        done, again, dead, later = await desk.receive(4)
        await other.receiver.complete_message(done)
        await other.receiver.abandon_message(again)
        await other.receiver.dead_letter_message(dead, reason="r", error_description="d")
        await other.receiver.defer_message(later)
        message = await other.one()
        assert (str(message), message.delivery_count) == ("abandon", 1)
        assert texts(await other.fetch(later.sequence_number or 0)) == ["defer"]
        (dead,) = await desk.dead_letters()
        assert (dead.dead_letter_reason, dead.dead_letter_error_description) == ("r", "d")


@behaviour
async def test_a_message_may_be_settled_by_another_client(service: Service) -> None:
    async with service.desk() as desk, service.receiver(desk.queue) as other:
        await desk.send("x")
        await other.receiver.complete_message(await desk.one())
        assert await desk.stored() == []


@behaviour
async def test_a_message_is_settled_though_its_connection_broke(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        message = await desk.one()
        await service.break_connection(desk.receiver)
        await desk.receiver.complete_message(message)
        assert await desk.stored() == []


@behaviour
async def test_a_message_is_settled_though_its_link_was_detached(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        message = await desk.one()
        await service.break_link(desk.receiver)
        await desk.receiver.complete_message(message)
        assert await desk.stored() == []


@behaviour
async def test_a_receiver_that_was_never_opened_cannot_settle(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        message = await desk.one()
        with pytest.raises(ValueError, match="shutdown"):
            await desk.client.get_queue_receiver(desk.queue).complete_message(message)
        await desk.receiver.complete_message(message)


@behaviour
async def test_a_closed_receiver_cannot_settle_what_it_received(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        async with desk.another() as closing:
            message = await closing.one()
        with pytest.raises(ValueError, match="shutdown"):
            await closing.receiver.complete_message(message)
        await desk.receiver.complete_message(message)
        assert await desk.stored() == []


@behaviour
async def test_settlements_at_once_from_several_receivers_are_each_confirmed(service: Service) -> None:
    async with service.desk() as desk, desk.another() as other, desk.another() as third:
        await desk.send_list(range(30))
        desks = (desk, other, third)
        parts = await asyncio.gather(*(d.receive(10) for d in desks))

        async def complete(at: int) -> None:
            for message in parts[at]:
                await desks[at].receiver.complete_message(message)

        await asyncio.gather(*(complete(at) for at in range(3)))
        assert await desk.stored() == []
