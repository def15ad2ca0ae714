"""Sending"""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from azure.servicebus import ServiceBusMessage
from azure.servicebus.amqp import AmqpAnnotatedMessage, AmqpMessageHeader

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.desk import texts
from tests.broker.conformance.sdk import Service


@behaviour
async def test_a_message_arrives_with_its_body_and_every_property(service: Service) -> None:
    sent: dict[str, Any] = {
        "session_id": "s",
        "message_id": "m",
        "content_type": "text/plain",
        "correlation_id": "c",
        "subject": "sub",
        "to": "t",
        "reply_to": "r",
        "reply_to_session_id": "rs",
        "time_to_live": timedelta(minutes=5),
    }
    async with service.desk() as desk:
        await desk.sender.send_messages(ServiceBusMessage(b"body \x00\xff", **sent))
        got = await desk.one()
        assert b"".join(got.body) == b"body \x00\xff"
        assert {name: getattr(got, name) for name in sent} == sent


@behaviour
async def test_application_properties_of_every_type_arrive(service: Service) -> None:
    properties: dict[str | bytes, Any] = {
        "text": "é",
        "number": 7,
        "negative": -3,
        "part": 0.5,
        "flag": True,
        "none": None,
        "id": uuid.UUID(int=5),
    }
    async with service.desk() as desk:
        await desk.send("x", application_properties=properties)
        expected = {str(name).encode(): value for name, value in properties.items()} | {b"text": "é".encode()}
        assert (await desk.one()).application_properties == expected


@behaviour
async def test_a_message_without_body_arrives(service: Service) -> None:
    async with service.desk() as desk:
        await desk.sender.send_messages(ServiceBusMessage(None))
        assert b"".join((await desk.one()).body or []) == b""


@behaviour
async def test_a_message_id_that_is_a_uuid_stays_one(service: Service) -> None:
    async with service.desk() as desk:
        message = ServiceBusMessage("x")
        message.raw_amqp_message.properties.message_id = uuid.UUID(int=7)  # type: ignore[union-attr]  # typed str
        await desk.sender.send_messages(message)
        assert (await desk.one()).message_id == uuid.UUID(int=7)


@behaviour
async def test_a_message_without_an_id_has_none_when_it_arrives(service: Service) -> None:
    async with service.desk() as desk:
        await desk.sender.send_messages(AmqpAnnotatedMessage(data_body=[b"x"]))
        assert (await desk.one()).message_id is None


@behaviour
async def test_a_session_id_is_kept_by_a_queue_without_sessions(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x", session_id="s", partition_key="s")
        got = await desk.one()
        assert (got.session_id, got.partition_key) == ("s", "s")
        await desk.receiver.complete_message(got)


@behaviour
async def test_a_message_may_be_sent_as_a_dict(service: Service) -> None:
    async with service.desk() as desk:
        given = {"body": "x", "message_id": "m", "application_properties": {"mine": 1}, "subject": "s"}
        await desk.sender.send_messages(given)
        got = await desk.one()
        assert (str(got), got.message_id, got.subject) == ("x", "m", "s")
        assert got.application_properties == {b"mine": 1}


@behaviour
async def test_the_first_message_of_a_queue_has_number_one_and_each_later_one_the_next(
    service: Service,
) -> None:
    async with service.desk() as desk:
        await desk.send("a", "b", "c")
        got = await desk.receive(3)
        assert [(str(m), m.sequence_number, m.enqueued_sequence_number) for m in got] == [
            ("a", 1, 1),
            ("b", 2, 2),
            ("c", 3, 3),
        ]


@behaviour
async def test_the_enqueued_time_is_that_of_the_broker_s_commit(service: Service) -> None:
    async with service.desk() as desk:
        before = datetime.now(UTC)
        await desk.send("x")
        after = datetime.now(UTC)
        enqueued = (await desk.one()).enqueued_time_utc
        assert enqueued is not None
        assert before - timedelta(milliseconds=2) <= enqueued <= after + timedelta(milliseconds=2)


@behaviour
async def test_one_message_object_may_be_sent_twice(service: Service) -> None:
    async with service.desk() as desk:
        message = ServiceBusMessage("x", message_id="m")
        await desk.sender.send_messages(message)
        await desk.sender.send_messages(message)
        assert [m.message_id for m in await desk.receive(2)] == ["m", "m"]


@behaviour
async def test_a_received_message_may_be_sent_on(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x", application_properties={"mine": 1})
        got = await desk.one()
        await desk.sender.send_messages(got)
        await desk.receiver.complete_message(got)
        again = await desk.one()
        assert (str(again), again.sequence_number, again.delivery_count) == ("x", 2, 0)
        assert again.application_properties == {b"mine": 1}


@behaviour
async def test_a_sender_cannot_forge_what_the_broker_says(service: Service) -> None:
    async with service.desk() as desk:
        forged = AmqpAnnotatedMessage(
            data_body=[b"x"],
            header=AmqpMessageHeader(delivery_count=9),
            annotations={"x-opt-sequence-number": 99, "x-opt-message-state": 1, "x-opt-enqueued-time": 0},
            delivery_annotations={"x-opt-lock-token": uuid.UUID(int=1)},
        )
        await desk.sender.send_messages(forged)
        got = await desk.one()
        assert (got.sequence_number, got.delivery_count, got.state.name) == (1, 0, "ACTIVE")
        assert got.lock_token != uuid.UUID(int=1)
        assert got.lock_token == (got.raw_amqp_message.delivery_annotations or {})[b"x-opt-lock-token"]


@behaviour
async def test_many_senders_at_once_lose_nothing_and_each_keeps_its_order(service: Service) -> None:
    async with service.desk(prefetch_count=50) as desk:

        async def send_some(number: int) -> None:
            async with desk.client.get_queue_sender(desk.queue) as sender:
                for part in range(5):
                    await sender.send_messages(ServiceBusMessage(f"{number}.{part}"))

        await asyncio.gather(*(send_some(number) for number in range(10)))
        got = texts(await desk.as_they_come(50))
        for number in range(10):
            mine = [text for text in got if text.startswith(f"{number}.")]
            assert mine == [f"{number}.{part}" for part in range(5)]
