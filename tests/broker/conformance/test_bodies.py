"""Bodies and sections"""

from __future__ import annotations

from typing import Any

from azure.servicebus import ServiceBusMessage
from azure.servicebus.amqp import (
    AmqpAnnotatedMessage,
    AmqpMessageBodyType,
    AmqpMessageHeader,
    AmqpMessageProperties,
)

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.sdk import Service


async def through(service: Service, message: Any) -> AmqpAnnotatedMessage:
    """The message as a receiver sees it."""
    async with service.desk() as desk:
        await desk.sender.send_messages(message)
        return (await desk.one()).raw_amqp_message


@behaviour
async def test_a_body_of_several_data_sections_arrives_whole(service: Service) -> None:
    got = await through(service, AmqpAnnotatedMessage(data_body=[b"one", b"", b"two"]))
    assert got.body_type is AmqpMessageBodyType.DATA
    assert list(got.body) == [b"one", b"", b"two"]


@behaviour
async def test_a_body_of_sequences_arrives_whole(service: Service) -> None:
    got = await through(service, AmqpAnnotatedMessage(sequence_body=[[1, "a"], [2]]))
    assert got.body_type is AmqpMessageBodyType.SEQUENCE
    assert list(got.body) == [[1, b"a"], [2]]


@behaviour
async def test_a_body_that_is_a_value_arrives_as_it_was(service: Service) -> None:
    got = await through(service, AmqpAnnotatedMessage(value_body={"k": [1, None, {"deep": True}]}))
    assert got.body_type is AmqpMessageBodyType.VALUE
    assert got.body == {b"k": [1, None, {b"deep": True}]}


@behaviour
async def test_annotations_of_every_section_arrive(service: Service) -> None:
    got = await through(
        service,
        AmqpAnnotatedMessage(
            data_body=[b"x"], footer={"f": 1}, annotations={"a": 2}, delivery_annotations={"d": 3}
        ),
    )
    assert got.footer == {b"f": 1}
    assert (got.annotations or {})[b"a"] == 2
    assert (got.delivery_annotations or {})[b"d"] == 3


@behaviour
async def test_the_header_arrives_with_its_priority(service: Service) -> None:
    header = AmqpMessageHeader(priority=7, durable=True, first_acquirer=True, time_to_live=60_000)
    got = (await through(service, AmqpAnnotatedMessage(value_body="x", header=header))).header
    assert got is not None
    assert (got.priority, got.durable, got.time_to_live, got.delivery_count) == (7, True, 60_000, 0)


@behaviour
async def test_every_field_of_the_properties_arrives(service: Service) -> None:
    fields: dict[str, Any] = {
        "message_id": "m",
        "to": "t",
        "subject": "s",
        "reply_to": "r",
        "correlation_id": "c",
        "content_type": "text/plain",
        "content_encoding": "utf-8",
        "creation_time": 1,
        "absolute_expiry_time": 2,
        "group_id": "g",
        "group_sequence": 3,
        "reply_to_group_id": "rg",
    }
    sent = AmqpAnnotatedMessage(value_body="x", properties=AmqpMessageProperties(**fields))
    got = (await through(service, sent)).properties
    assert got is not None
    shown = {name: getattr(got, name) for name in fields}
    expected = {name: text.encode() if isinstance(text, str) else text for name, text in fields.items()}
    assert shown == expected


@behaviour
async def test_payload_that_looks_like_a_batch_is_left_alone(service: Service) -> None:
    inner = bytes.fromhex("005375a00161")  # an encoded AMQP message, sent as data
    assert b"".join((await through(service, ServiceBusMessage(inner))).body) == inner


@behaviour
async def test_an_empty_body_arrives_empty(service: Service) -> None:
    assert b"".join((await through(service, ServiceBusMessage(b""))).body) == b""
