"""Sending, seen through the aio SDK."""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from azure.servicebus import ServiceBusMessage
from azure.servicebus.amqp import AmqpAnnotatedMessage, AmqpMessageBodyType
from azure.servicebus.exceptions import (
    MessageNotFoundError,
    MessageSizeExceededError,
    MessagingEntityNotFoundError,
    ServiceBusAuthenticationError,
    ServiceBusError,
)

from tests.broker.client import client_of, desk_of
from tests.broker.process import BrokerProcess
from tests.broker.together import scenario

pytestmark = pytest.mark.broker


@scenario
async def test_a_message_arrives_with_its_body_and_every_property(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        message = ServiceBusMessage(
            b"body \x00\xff",
            application_properties={"text": "é", "number": 7, "flag": True, "id": uuid.UUID(int=5)},
            session_id="s",
            message_id="m",
            content_type="text/plain",
            correlation_id="c",
            subject="sub",
            to="t",
            reply_to="r",
            time_to_live=timedelta(minutes=5),
        )
        await desk.sender.send_messages(message)
        got = await desk.one()
        assert b"".join(got.body) == b"body \x00\xff"
        assert got.application_properties == {
            b"text": "é".encode(),
            b"number": 7,
            b"flag": True,
            b"id": uuid.UUID(int=5),
        }
        assert (got.session_id, got.message_id, got.content_type, got.correlation_id) == (
            "s",
            "m",
            "text/plain",
            "c",
        )
        assert (got.subject, got.to, got.reply_to, got.time_to_live) == (
            "sub",
            "t",
            "r",
            timedelta(minutes=5),
        )
        assert (got.delivery_count, got.sequence_number, got.enqueued_sequence_number) == (0, 1, 1)
        assert got.enqueued_time_utc is not None
        assert got.expires_at_utc == got.enqueued_time_utc + timedelta(minutes=5)
        assert got.lock_token == (got.raw_amqp_message.delivery_annotations or {})[b"x-opt-lock-token"]


@scenario
async def test_every_kind_of_body_and_every_section_survives(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        sections: dict[str, Any] = {
            "footer": {"f": 1},
            "annotations": {"a": 2},
            "delivery_annotations": {"d": 3},
            "header": {"priority": 7},
        }
        bodies: list[tuple[dict[str, Any], AmqpMessageBodyType]] = [
            ({"data_body": [b"one", b"two"]}, AmqpMessageBodyType.DATA),
            ({"sequence_body": [[1, "a"], [2]]}, AmqpMessageBodyType.SEQUENCE),
            ({"value_body": {"k": [1, None]}}, AmqpMessageBodyType.VALUE),
        ]
        for body, _ in bodies:
            await desk.sender.send_messages(AmqpAnnotatedMessage(**body, **sections))
        got = [m.raw_amqp_message for m in await desk.receive(3)]
        assert [m.body_type for m in got] == [kind for _, kind in bodies]
        assert list(got[0].body) == [b"one", b"two"]
        assert list(got[1].body) == [[1, b"a"], [2]]
        assert got[2].body == {b"k": [1, None]}
        for message in got:
            assert message.footer == {b"f": 1}
            assert (message.annotations or {})[b"a"] == 2
            assert (message.delivery_annotations or {})[b"d"] == 3
            assert message.header is not None
            assert message.header.priority == 7


@scenario
async def test_a_message_without_body_arrives(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        await desk.sender.send_messages(ServiceBusMessage(None))
        assert b"".join((await desk.one()).body or []) == b""


@scenario
async def test_a_batch_arrives_as_its_messages_in_order(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        await desk.sender.send_messages([ServiceBusMessage(f"{n}", message_id=f"id{n}") for n in range(50)])
        got = await desk.receive(50)
        assert [(str(m), m.message_id, m.sequence_number) for m in got] == [
            (f"{n}", f"id{n}", n + 1) for n in range(50)
        ]


@scenario
async def test_a_large_message_goes_through_in_both_directions(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        body = bytes(range(256)) * 1000
        await desk.sender.send_messages(ServiceBusMessage(body))
        assert b"".join((await desk.one()).body) == body


@scenario
async def test_a_message_over_the_limit_is_refused_and_the_sender_goes_on(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        for size in (262_144, 900_000, 3_000_000):
            with pytest.raises(MessageSizeExceededError):
                await desk.sender.send_messages(ServiceBusMessage(b"x" * size))
        await desk.send("small")
        assert str(await desk.one()) == "small"


@scenario
async def test_payload_that_looks_like_a_batch_is_left_alone(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        inner = bytes.fromhex("005375a00161")  # an encoded AMQP message, sent as data
        await desk.sender.send_messages(ServiceBusMessage(inner))
        assert b"".join((await desk.one()).body) == inner


@scenario
async def test_a_queue_that_does_not_exist_is_named_in_the_error(broker: BrokerProcess) -> None:
    async with client_of(broker, retry_total=0) as client:
        with pytest.raises(MessagingEntityNotFoundError, match="no-such-queue"):
            async with client.get_queue_sender("no-such-queue"):
                pass
        with pytest.raises(MessagingEntityNotFoundError):
            async with client.get_queue_receiver("no-such-queue"):
                pass
        with pytest.raises(MessagingEntityNotFoundError):
            async with client.get_queue_receiver("plain-0", sub_queue="transferdeadletter"):
                pass


@scenario
async def test_nothing_can_be_sent_to_a_dead_letter_queue(broker: BrokerProcess) -> None:
    async with client_of(broker, retry_total=0) as client:
        with pytest.raises(ServiceBusError, match="dead-letter"):
            async with client.get_queue_sender("plain-0/$DeadLetterQueue"):
                pass


@scenario
async def test_queue_names_compare_without_regard_to_case(broker: BrokerProcess) -> None:
    queue = broker.queue()
    async with desk_of(broker, queue=queue) as desk, client_of(broker) as client:
        async with client.get_queue_sender(queue.upper()) as sender:
            await sender.send_messages(ServiceBusMessage("x"))
        assert str(await desk.one()) == "x"


@scenario
async def test_a_wrong_key_opens_nothing(broker: BrokerProcess) -> None:
    text = broker.connection_string.replace("SharedAccessKey=", "SharedAccessKey=not")
    wrong = BrokerProcess(broker.folder, broker.port, text)
    async with client_of(wrong, retry_total=0) as client:
        with pytest.raises(ServiceBusAuthenticationError):
            async with client.get_queue_sender("plain-0"):
                pass


@scenario
async def test_a_duplicate_is_accepted_and_dropped_alone_and_in_batches(broker: BrokerProcess) -> None:
    async with desk_of(broker, "dup") as desk:
        for _ in range(3):
            await desk.send("first", message_id="same")
        await desk.sender.send_messages([ServiceBusMessage(f"{n}", message_id=f"{n % 2}") for n in range(4)])
        assert [str(m) for m in await desk.receive(3)] == ["first", "0", "1"]
        await desk.assert_empty()


@scenario
async def test_a_scheduled_message_arrives_when_it_is_due_and_not_before(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        due = datetime.now(UTC) + timedelta(seconds=3)
        await desk.sender.schedule_messages(ServiceBusMessage("operation"), due)
        await desk.sender.send_messages(ServiceBusMessage("annotation", scheduled_enqueue_time_utc=due))
        got = await desk.receive(2)
        assert datetime.now(UTC) >= due - timedelta(milliseconds=1)
        assert {str(m) for m in got} == {"operation", "annotation"}
        for message in got:
            assert message.enqueued_time_utc is not None
            assert message.enqueued_time_utc >= due - timedelta(milliseconds=1)
            assert message.scheduled_enqueue_time_utc is not None


@scenario
async def test_a_cancelled_message_never_arrives(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        due = datetime.now(UTC) + timedelta(minutes=2)
        numbers = await desk.sender.schedule_messages([ServiceBusMessage(f"{n}") for n in range(3)], due)
        await desk.sender.cancel_scheduled_messages(numbers[:2])
        assert [str(m) for m in await desk.receiver.peek_messages(10)] == ["2"]


@scenario
async def test_cancelling_what_is_not_scheduled_is_an_error(broker: BrokerProcess) -> None:
    async with client_of(broker, retry_total=0) as client, client.get_queue_sender(broker.queue()) as sender:
        with pytest.raises(MessageNotFoundError):
            await sender.cancel_scheduled_messages(77)


@scenario
async def test_many_senders_at_once_lose_nothing(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:

        async def send_some(number: int) -> None:
            async with desk.client.get_queue_sender(desk.queue) as sender:
                for part in range(5):
                    await sender.send_messages(ServiceBusMessage(f"{number}.{part}"))

        await asyncio.gather(*(send_some(number) for number in range(20)))
        assert len({str(m) for m in await desk.receive(100)}) == 100
