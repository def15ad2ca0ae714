"""Size limits"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from azure.servicebus import ServiceBusMessage
from azure.servicebus._pyamqp._encode import encode_payload
from azure.servicebus._transport._pyamqp_transport import PyamqpTransport
from azure.servicebus.exceptions import MessageSizeExceededError

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.sdk import Service

LIMIT = 262_144
"""Bytes of an encoded message: https://learn.microsoft.com/azure/service-bus-messaging/service-bus-quotas"""


def encoded_size(message: ServiceBusMessage) -> int:
    """Bytes of the message as the SDK sends it."""
    outgoing = PyamqpTransport.to_outgoing_amqp_message(message.raw_amqp_message)
    return len(encode_payload(bytearray(), outgoing))


@behaviour
async def test_a_large_message_goes_through_in_both_directions(service: Service) -> None:
    async with service.desk() as desk:
        body = bytes(range(256)) * 1000
        await desk.sender.send_messages(ServiceBusMessage(body))
        assert b"".join((await desk.one()).body) == body


@behaviour
async def test_the_largest_message_is_taken_and_one_byte_more_is_refused(service: Service) -> None:
    async with service.desk() as desk:
        overhead = encoded_size(ServiceBusMessage(b"x" * 300, message_id="m")) - 300
        await desk.sender.send_messages(ServiceBusMessage(b"x" * (LIMIT - overhead), message_id="m"))
        with pytest.raises(MessageSizeExceededError):
            await desk.sender.send_messages(ServiceBusMessage(b"x" * (LIMIT - overhead + 1), message_id="m"))
        assert len(b"".join((await desk.one()).body)) == LIMIT - overhead


@behaviour
async def test_a_message_over_the_limit_is_refused_at_once_and_the_sender_goes_on(service: Service) -> None:
    async with service.desk() as desk:
        for size in (LIMIT, 900_000, 3_000_000):
            with pytest.raises(MessageSizeExceededError, match=f"{LIMIT}"):
                await desk.sender.send_messages(ServiceBusMessage(b"x" * size))
        await desk.send("small")
        assert await desk.stored() == ["small"]


@behaviour
async def test_a_list_over_the_limit_is_refused_whole(service: Service) -> None:
    async with service.desk() as desk:
        with pytest.raises(MessageSizeExceededError):
            await desk.sender.send_messages([ServiceBusMessage(b"x" * 100_000) for _ in range(3)])
        assert await desk.stored() == []


@behaviour
async def test_a_message_over_the_limit_cannot_be_scheduled_and_nothing_of_its_list_is(
    service: Service,
) -> None:
    async with service.desk() as desk:
        messages = [ServiceBusMessage(b"x" * size) for size in (10, LIMIT)]
        with pytest.raises(MessageSizeExceededError):
            await desk.sender.schedule_messages(messages, datetime.now(UTC) + timedelta(minutes=5))
        assert await desk.stored() == []
        await desk.sender.schedule_messages(ServiceBusMessage("small"), datetime.now(UTC))
        assert await desk.stored() == ["small"]


@behaviour
async def test_large_properties_count_as_the_message_does(service: Service) -> None:
    async with service.desk() as desk:
        with pytest.raises(MessageSizeExceededError):
            await desk.send("x", application_properties={"large": "x" * LIMIT})
        await desk.send("x", application_properties={"large": "x" * 60_000})
        assert len((await desk.one()).application_properties[b"large"]) == 60_000  # type: ignore[index, arg-type]  # set above
