"""Peeking"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from azure.servicebus import ServiceBusMessage, ServiceBusMessageState

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.desk import texts
from tests.broker.conformance.sdk import Service


@behaviour
async def test_peeking_shows_messages_of_every_state_and_takes_none(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("deferred", "locked", "active")
        deferred, _ = await desk.receive(2)
        await desk.receiver.defer_message(deferred)
        later = datetime.now(UTC) + timedelta(minutes=5)
        await desk.sender.schedule_messages(ServiceBusMessage("scheduled"), later)
        peeked = await desk.receiver.peek_messages(10, sequence_number=1)
        assert [(str(m), m.state) for m in peeked] == [
            ("deferred", ServiceBusMessageState.DEFERRED),
            ("locked", ServiceBusMessageState.ACTIVE),
            ("active", ServiceBusMessageState.ACTIVE),
            ("scheduled", ServiceBusMessageState.SCHEDULED),
        ]
        assert str(await desk.one()) == "active"


@behaviour
async def test_a_peeked_message_has_no_lock(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        await desk.one()
        (peeked,) = await desk.receiver.peek_messages(1, sequence_number=1)
        assert (peeked.lock_token, peeked.locked_until_utc) == (None, None)


@behaviour
async def test_a_peeked_message_cannot_be_settled_or_renewed(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        (peeked,) = await desk.receiver.peek_messages(1)
        for act in (
            desk.receiver.complete_message,
            desk.receiver.abandon_message,
            desk.receiver.defer_message,
            desk.receiver.dead_letter_message,
            desk.receiver.renew_message_lock,
        ):
            with pytest.raises(ValueError, match="peek"):
                await act(peeked)
        assert str(await desk.one()) == "x"


@behaviour
async def test_peeking_counts_as_no_delivery(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        for _ in range(3):
            await desk.receiver.peek_messages(1, sequence_number=1)
        assert (await desk.one()).delivery_count == 0


@behaviour
async def test_peeking_an_empty_queue_shows_nothing_at_once(service: Service) -> None:
    async with service.desk() as desk:
        async with asyncio.timeout(60):  # as long as the service might wait for a message
            assert await desk.receiver.peek_messages(10) == []


@behaviour
async def test_each_peek_goes_on_where_the_one_before_ended(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send_list(range(7))
        pages = [texts(await desk.receiver.peek_messages(3)) for _ in range(4)]
        assert pages == [["0", "1", "2"], ["3", "4", "5"], ["6"], []]


@behaviour
async def test_a_peek_may_begin_at_any_number(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send_list(range(5))
        assert texts(await desk.receiver.peek_messages(2, sequence_number=3)) == ["2", "3"]
        assert await desk.receiver.peek_messages(2, sequence_number=6) == []


@behaviour
async def test_a_peek_passes_over_numbers_that_are_gone(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send_list(range(5))
        got = await desk.receive(5)
        for message in (got[1], got[2]):
            await desk.receiver.complete_message(message)
        assert await desk.stored() == ["0", "3", "4"]
        assert texts(await desk.receiver.peek_messages(1, sequence_number=2)) == ["3"]


@behaviour
async def test_a_peek_after_receiving_begins_after_what_was_received(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send_list(range(3))
        await desk.one()
        assert texts(await desk.receiver.peek_messages(10)) == ["1", "2"]


@behaviour
async def test_a_peek_shows_the_message_whole(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x", message_id="m", application_properties={"mine": 1}, subject="s")
        await desk.receiver.abandon_message(await desk.one())
        (got,) = await desk.receiver.peek_messages(1, sequence_number=1)
        assert (str(got), got.message_id, got.subject, got.sequence_number) == ("x", "m", "s", 1)
        assert (got.application_properties, got.delivery_count) == ({b"mine": 1}, 1)
        assert got.enqueued_time_utc is not None


@behaviour
async def test_large_messages_are_peeked_some_at_a_time_and_in_the_end_all(service: Service) -> None:
    async with service.desk() as desk:
        for _ in range(5):
            await desk.sender.send_messages(ServiceBusMessage(b"x" * 100_000))
        seen = []
        while more := await desk.receiver.peek_messages(10):
            seen += more
        assert [m.sequence_number for m in seen] == [1, 2, 3, 4, 5]


@behaviour
async def test_many_small_messages_are_peeked_at_once(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send_list(range(300))
        assert texts(await desk.receiver.peek_messages(250)) == [f"{n}" for n in range(250)]


@behaviour
async def test_dead_letters_are_peeked_too(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        await desk.receiver.dead_letter_message(await desk.one(), reason="r")
        async with desk.below() as below:
            (peeked,) = await below.receiver.peek_messages(10)
            assert (str(peeked), peeked.dead_letter_reason, peeked.lock_token) == ("x", "r", None)


@behaviour
async def test_a_peeked_message_may_be_sent_again(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x", message_id="m")
        (peeked,) = await desk.receiver.peek_messages(1)
        await desk.sender.send_messages(peeked)
        assert [(str(m), m.message_id) for m in await desk.receive(2)] == [("x", "m")] * 2
