"""Closing, and what closed handlers say"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from azure.servicebus import ServiceBusMessage

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.sdk import Service


@behaviour
async def test_a_closed_sender_says_so_whatever_it_is_asked(service: Service) -> None:
    async with service.client() as client:
        async with client.get_queue_sender(service.queue()) as sender:
            pass
        message, later = ServiceBusMessage("x"), datetime.now(UTC) + timedelta(minutes=1)
        for ask in (
            partial(sender.send_messages, message),
            partial(sender.schedule_messages, message, later),
            partial(sender.cancel_scheduled_messages, 1),
            sender.create_message_batch,
            sender.__aenter__,
        ):
            with pytest.raises(ValueError, match="shutdown"):
                await ask()


@behaviour
async def test_a_closed_receiver_says_so_whatever_it_is_asked(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        async with desk.another() as closing:
            message = await closing.one()
            receiver = closing.receiver
        for ask in (
            partial(receiver.receive_messages, 1),
            partial(receiver.peek_messages, 1),
            partial(receiver.receive_deferred_messages, 1),
            partial(receiver.complete_message, message),
            partial(receiver.renew_message_lock, message),
            receiver.__aenter__,
        ):
            with pytest.raises(ValueError, match="shutdown"):
                await ask()


@behaviour
async def test_a_handler_may_be_closed_twice(service: Service) -> None:
    async with service.desk() as desk, desk.another() as other:
        await other.receiver.close()
        await other.receiver.close()
        await desk.send("x")
        assert str(await desk.one()) == "x"


@behaviour
async def test_a_closed_client_closes_its_senders_and_receivers(service: Service) -> None:
    queue = service.queue()
    client = service.client()
    sender, receiver = client.get_queue_sender(queue), client.get_queue_receiver(queue)
    await sender.send_messages(ServiceBusMessage("x"))
    await receiver.peek_messages(1)
    await client.close()
    with pytest.raises(ValueError, match="shutdown"):
        await sender.send_messages(ServiceBusMessage("y"))
    with pytest.raises(ValueError, match="shutdown"):
        await receiver.peek_messages(1)


@behaviour
async def test_handlers_open_when_they_are_first_used(service: Service) -> None:
    queue = service.queue()
    async with service.client() as client:
        await client.get_queue_sender(queue).send_messages(ServiceBusMessage("x"))
        receiver = client.get_queue_receiver(queue)
        (message,) = await receiver.receive_messages(1, max_wait_time=10)
        await receiver.complete_message(message)


@behaviour
async def test_what_is_asked_in_vain_is_refused_by_the_client(service: Service) -> None:
    async with service.desk() as desk:
        for ask in (
            partial(desk.receiver.receive_messages, 0),
            partial(desk.receiver.receive_messages, 1, max_wait_time=-1),
            partial(desk.receiver.peek_messages, -1),
        ):
            with pytest.raises(ValueError, match="must be"):
                await ask()
        assert await desk.receiver.receive_deferred_messages([]) == []
        await desk.sender.send_messages([])
        assert await desk.stored() == []
