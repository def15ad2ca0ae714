"""Batches"""

from __future__ import annotations

from datetime import timedelta

import pytest
from azure.servicebus import ServiceBusMessage
from azure.servicebus.exceptions import MessageSizeExceededError

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.desk import texts
from tests.broker.conformance.sdk import Service


@behaviour
async def test_a_list_arrives_as_its_messages_in_order(service: Service) -> None:
    async with service.desk(prefetch_count=50) as desk:
        await desk.sender.send_messages([ServiceBusMessage(f"{n}", message_id=f"id{n}") for n in range(50)])
        got = await desk.as_they_come(50)
        assert [(str(m), m.message_id, m.sequence_number) for m in got] == [
            (f"{n}", f"id{n}", n + 1) for n in range(50)
        ]


@behaviour
async def test_a_list_of_one_is_a_message(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send_list(["x"])
        assert str(await desk.one()) == "x"
        await desk.assert_empty()


@behaviour
async def test_a_batch_object_arrives_as_its_messages(service: Service) -> None:
    async with service.desk() as desk:
        batch = await desk.sender.create_message_batch()
        for number in range(10):
            batch.add_message(ServiceBusMessage(f"{number}"))
        await desk.sender.send_messages(batch)
        assert texts(await desk.receive(10)) == [f"{n}" for n in range(10)]


@behaviour
async def test_each_message_of_a_batch_keeps_its_own_properties(service: Service) -> None:
    async with service.desk() as desk:
        await desk.sender.send_messages(
            [
                ServiceBusMessage(
                    f"{n}",
                    message_id=f"m{n}",
                    session_id=f"s{n}",
                    subject=f"{n}",
                    time_to_live=timedelta(minutes=n + 1),
                    application_properties={"n": n},
                )
                for n in range(3)
            ]
        )
        for n, got in enumerate(await desk.receive(3)):
            assert (got.message_id, got.session_id, got.subject) == (f"m{n}", f"s{n}", f"{n}")
            assert got.time_to_live == timedelta(minutes=n + 1)
            assert got.application_properties == {b"n": n}


@behaviour
async def test_dicts_make_a_batch_too(service: Service) -> None:
    async with service.desk() as desk:
        await desk.sender.send_messages([{"body": f"{n}", "message_id": f"{n}"} for n in range(3)])
        assert [(str(m), m.message_id) for m in await desk.receive(3)] == [(f"{n}", f"{n}") for n in range(3)]


@behaviour
async def test_a_batch_takes_as_much_as_the_broker_says_and_not_more(service: Service) -> None:
    async with service.desk() as desk:
        batch = await desk.sender.create_message_batch()
        assert batch.max_size_in_bytes == 262_144
        for _ in range(13):
            batch.add_message(ServiceBusMessage(b"x" * 20_000))
        with pytest.raises(MessageSizeExceededError):
            batch.add_message(ServiceBusMessage(b"x" * 20_000))
        await desk.sender.send_messages(batch)
        assert len(await desk.receive(13)) == 13


@behaviour
async def test_a_batch_may_be_asked_to_be_smaller_but_not_larger(service: Service) -> None:
    async with service.desk() as desk:
        assert (await desk.sender.create_message_batch(max_size_in_bytes=1000)).max_size_in_bytes == 1000
        with pytest.raises(ValueError, match="262144"):
            await desk.sender.create_message_batch(max_size_in_bytes=300_000)


@behaviour
async def test_a_thousand_messages_go_in_one_batch(service: Service) -> None:
    async with service.desk(prefetch_count=300) as desk:
        await desk.send_list(range(1000))
        assert texts(await desk.as_they_come(1000)) == [f"{n}" for n in range(1000)]


@behaviour
async def test_messages_of_one_batch_are_settled_one_by_one(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send_list(["done", "again", "dead"])
        done, again, dead = await desk.receive(3)
        await desk.receiver.complete_message(done)
        await desk.receiver.abandon_message(again)
        await desk.receiver.dead_letter_message(dead)
        assert await desk.stored() == ["again"]
        assert texts(await desk.dead_letters()) == ["dead"]
