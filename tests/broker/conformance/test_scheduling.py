"""Scheduled messages"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from azure.servicebus import ServiceBusMessage, ServiceBusMessageState
from azure.servicebus.exceptions import MessageNotFoundError

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.desk import texts
from tests.broker.conformance.sdk import Service

ROUNDING = timedelta(milliseconds=1)


def soon(seconds: float = 3) -> datetime:
    """A time to be waited for."""
    return datetime.now(UTC) + timedelta(seconds=seconds)


def later() -> datetime:
    """A time that does not come."""
    return datetime.now(UTC) + timedelta(minutes=10)


def assert_on_time(message: Any, due: datetime) -> None:
    """It came when it was due, and shows so."""
    assert datetime.now(UTC) >= due - ROUNDING
    assert message.enqueued_time_utc >= due - ROUNDING
    assert abs(message.scheduled_enqueue_time_utc - due) <= ROUNDING


@behaviour
async def test_a_message_scheduled_by_the_operation_arrives_when_it_is_due(service: Service) -> None:
    async with service.desk() as desk:
        due = soon()
        await desk.sender.schedule_messages(ServiceBusMessage("x"), due)
        assert_on_time(await desk.one(), due)


@behaviour
async def test_a_message_scheduled_by_its_property_arrives_when_it_is_due(service: Service) -> None:
    async with service.desk() as desk:
        due = soon()
        await desk.sender.send_messages(ServiceBusMessage("x", scheduled_enqueue_time_utc=due))
        assert_on_time(await desk.one(), due)


@behaviour
async def test_messages_of_a_batch_are_scheduled_one_by_one(service: Service) -> None:
    async with service.desk() as desk:
        due = soon()
        await desk.sender.send_messages(
            [ServiceBusMessage("due", scheduled_enqueue_time_utc=due), ServiceBusMessage("now")]
        )
        assert str(await desk.one()) == "now"
        message = await desk.one()
        assert str(message) == "due"
        assert_on_time(message, due)


@behaviour
async def test_a_message_scheduled_for_the_past_is_there_at_once(service: Service) -> None:
    async with service.desk() as desk:
        past = datetime.now(UTC) - timedelta(minutes=1)
        await desk.sender.schedule_messages(ServiceBusMessage("operation"), past)
        await desk.sender.send_messages(ServiceBusMessage("property", scheduled_enqueue_time_utc=past))
        got = await desk.receive(2)
        assert texts(got) == ["operation", "property"]
        assert all(m.enqueued_time_utc and m.enqueued_time_utc > past + timedelta(seconds=30) for m in got)


@behaviour
async def test_scheduled_messages_become_due_in_the_order_of_their_times(service: Service) -> None:
    async with service.desk() as desk:
        await desk.sender.schedule_messages(ServiceBusMessage("second"), soon(3))
        await desk.sender.schedule_messages(ServiceBusMessage("first"), soon(2))
        assert texts(await desk.receive(2)) == ["first", "second"]


@behaviour
async def test_a_scheduled_message_is_shown_as_scheduled_and_not_received(service: Service) -> None:
    async with service.desk() as desk:
        due = later()
        (number,) = await desk.sender.schedule_messages(ServiceBusMessage("x"), due)
        await desk.assert_empty()
        (peeked,) = await desk.receiver.peek_messages(1)
        assert (str(peeked), peeked.sequence_number) == ("x", number)
        assert peeked.state is ServiceBusMessageState.SCHEDULED


@behaviour
async def test_a_due_message_is_active_and_keeps_the_number_of_its_schedule_as_its_first(
    service: Service,
) -> None:
    async with service.desk() as desk:
        (number,) = await desk.sender.schedule_messages(ServiceBusMessage("x"), soon(2))
        message = await desk.one()
        assert message.state is ServiceBusMessageState.ACTIVE
        assert message.enqueued_sequence_number == number


@behaviour
async def test_a_scheduled_list_is_answered_with_a_number_for_each(service: Service) -> None:
    async with service.desk() as desk:
        messages = [ServiceBusMessage(f"{n}") for n in range(3)]
        numbers = await desk.sender.schedule_messages(messages, later())
        assert numbers == [1, 2, 3]
        assert await desk.stored() == ["0", "1", "2"]


@behaviour
async def test_a_dict_is_scheduled_too(service: Service) -> None:
    async with service.desk() as desk:
        await desk.sender.schedule_messages({"body": "x", "message_id": "m"}, soon(1))
        message = await desk.one()
        assert (str(message), message.message_id) == ("x", "m")


@behaviour
async def test_a_scheduled_message_keeps_its_properties(service: Service) -> None:
    async with service.desk() as desk:
        sent = ServiceBusMessage(
            "x", subject="s", session_id="g", application_properties={"mine": 1}, correlation_id="c"
        )
        await desk.sender.schedule_messages(sent, soon(1))
        got = await desk.one()
        assert (got.subject, got.session_id, got.correlation_id) == ("s", "g", "c")
        assert got.application_properties == {b"mine": 1}


@behaviour
async def test_a_cancelled_message_never_arrives(service: Service) -> None:
    async with service.desk() as desk:
        numbers = await desk.sender.schedule_messages([ServiceBusMessage(f"{n}") for n in range(3)], later())
        await desk.sender.cancel_scheduled_messages(numbers[:2])
        assert await desk.stored() == ["2"]
        await desk.sender.cancel_scheduled_messages(numbers[2])
        assert await desk.stored() == []


@behaviour
async def test_a_message_scheduled_by_its_property_is_cancelled_by_its_peeked_number(
    service: Service,
) -> None:
    async with service.desk() as desk:
        await desk.sender.send_messages(ServiceBusMessage("x", scheduled_enqueue_time_utc=later()))
        (peeked,) = await desk.receiver.peek_messages(1)
        await desk.sender.cancel_scheduled_messages(peeked.sequence_number or 0)
        assert await desk.stored() == []


@behaviour
async def test_cancelling_is_all_or_nothing(service: Service) -> None:
    async with service.desk() as desk, service.client(retry_total=0) as client:
        (number,) = await desk.sender.schedule_messages(ServiceBusMessage("x"), later())
        async with client.get_queue_sender(desk.queue) as sender:
            with pytest.raises(MessageNotFoundError):
                await sender.cancel_scheduled_messages([number, 77])
        assert await desk.stored() == ["x"]


@behaviour
async def test_cancelling_what_is_not_scheduled_is_an_error(service: Service) -> None:
    async with service.desk() as desk, service.client(retry_total=0) as client:
        await desk.send("active")
        async with client.get_queue_sender(desk.queue) as sender:
            for number in (1, 77):
                with pytest.raises(MessageNotFoundError):
                    await sender.cancel_scheduled_messages(number)
        assert str(await desk.one()) == "active"


@behaviour
async def test_a_message_is_cancelled_once(service: Service) -> None:
    async with service.client(retry_total=0) as client, client.get_queue_sender(service.queue()) as sender:
        (number,) = await sender.schedule_messages(ServiceBusMessage("x"), later())
        await sender.cancel_scheduled_messages(number)
        with pytest.raises(MessageNotFoundError):
            await sender.cancel_scheduled_messages(number)
