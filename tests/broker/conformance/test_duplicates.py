"""Duplicate detection"""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime, timedelta

from azure.servicebus import ServiceBusMessage
from azure.servicebus.amqp import AmqpAnnotatedMessage

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.desk import texts
from tests.broker.conformance.sdk import Service


@behaviour
async def test_a_duplicate_is_accepted_and_dropped(service: Service) -> None:
    async with service.desk("dup") as desk:
        await desk.send("first", "second", "third", message_id="same")
        assert await desk.stored() == ["first"]


@behaviour
async def test_each_message_of_a_batch_is_looked_at(service: Service) -> None:
    async with service.desk("dup") as desk:
        await desk.send("known", message_id="0")
        await desk.sender.send_messages([ServiceBusMessage(f"{n}", message_id=f"{n % 3}") for n in range(6)])
        assert await desk.stored() == ["known", "1", "2"]


@behaviour
async def test_a_batch_sent_twice_arrives_once(service: Service) -> None:
    async with service.desk("dup") as desk:
        messages = [ServiceBusMessage(f"{n}", message_id=f"{n}") for n in range(5)]
        await desk.sender.send_messages(messages)
        await desk.sender.send_messages(messages)
        assert await desk.stored() == [f"{n}" for n in range(5)]


@behaviour
async def test_a_settled_message_is_still_known(service: Service) -> None:
    async with service.desk("dup") as desk:
        await desk.send("first", message_id="m")
        await desk.receiver.complete_message(await desk.one())
        await desk.send("again", message_id="m")
        assert await desk.stored() == []


@behaviour
async def test_a_dead_letter_is_still_known(service: Service) -> None:
    async with service.desk("dup") as desk:
        await desk.send("dead", message_id="m")
        await desk.receiver.dead_letter_message(await desk.one())
        await desk.send("again", message_id="m")
        assert await desk.stored() == []


@behaviour
async def test_a_message_without_an_id_is_never_a_duplicate(service: Service) -> None:
    async with service.desk("dup") as desk:
        for _ in range(3):
            await desk.sender.send_messages(AmqpAnnotatedMessage(data_body=[b"x"]))
        assert await desk.stored() == ["x"] * 3


@behaviour
async def test_ids_of_another_case_or_type_are_other_ids(service: Service) -> None:
    async with service.desk("dup") as desk:
        number = uuid.UUID(int=5)
        for given in ("a", "A", str(number), number, "a", number):
            message = ServiceBusMessage("x")
            message.raw_amqp_message.properties.message_id = given  # type: ignore[union-attr]  # typed str
            await desk.sender.send_messages(message)
        assert [m.message_id for m in await desk.receive(4)] == ["a", "A", str(number), number]
        await desk.assert_empty()


@behaviour
async def test_a_queue_without_detection_keeps_both(service: Service) -> None:
    async with service.desk("plain") as desk:
        await desk.send("first", "second", message_id="same")
        assert await desk.stored() == ["first", "second"]


@behaviour
async def test_each_queue_has_its_own_history(service: Service) -> None:
    async with service.desk("dup") as desk, service.desk("dup") as other:
        await desk.send("here", message_id="same")
        await other.send("there", message_id="same")
        assert await desk.stored() + await other.stored() == ["here", "there"]


@behaviour
async def test_after_the_window_an_id_is_new(service: Service) -> None:
    async with service.desk("window") as desk:
        await desk.send("first", message_id="same")
        await asyncio.sleep(2.1)
        await desk.send("second", message_id="same")
        assert await desk.stored() == ["first", "second"]


@behaviour
async def test_a_duplicate_is_known_to_every_sender(service: Service) -> None:
    async with service.desk("dup") as desk, desk.client.get_queue_sender(desk.queue) as other:
        await desk.send("first", message_id="same")
        await other.send_messages(ServiceBusMessage("second", message_id="same"))
        assert await desk.stored() == ["first"]


@behaviour
async def test_a_duplicate_of_a_scheduled_message_is_dropped_and_answered_with_its_number(
    service: Service,
) -> None:
    async with service.desk("dup") as desk:
        later = datetime.now(UTC) + timedelta(minutes=5)
        first = await desk.sender.schedule_messages(ServiceBusMessage("first", message_id="same"), later)
        second = await desk.sender.schedule_messages(ServiceBusMessage("second", message_id="same"), later)
        await desk.send("third", message_id="same")
        assert first == second
        assert texts(await desk.receiver.peek_messages(10, sequence_number=1)) == ["first"]
