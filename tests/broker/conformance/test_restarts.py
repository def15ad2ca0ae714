"""Restarts of the broker"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from azure.servicebus import ServiceBusMessage
from azure.servicebus.exceptions import MessageLockLostError, ServiceBusConnectionError

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.desk import texts, until
from tests.broker.conformance.outages import outage
from tests.broker.conformance.sdk import Service
from tests.broker.process import BrokerProcess, running_broker


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker that may be killed: it is this module's alone."""
    with running_broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@behaviour
async def test_a_sender_and_a_receiver_go_on_after_a_restart(service: Service) -> None:
    async with outage(service) as restart, restart.service.desk() as desk:
        await desk.send("before")
        await restart.happen()
        await desk.send("after")
        assert texts(await desk.receive(2)) == ["before", "after"]


@behaviour
async def test_a_send_lives_through_a_short_outage(service: Service) -> None:
    async with outage(service) as restart, restart.service.desk() as desk:
        await desk.send("before")
        sending: list[asyncio.Task[None]] = []

        async def send() -> None:
            sending.append(asyncio.create_task(desk.send("during")))
            await asyncio.sleep(1)
            assert not sending[0].done()

        await restart.happen(send)
        await sending[0]
        assert await desk.stored() == ["before", "during"]


@behaviour
async def test_an_open_iterator_goes_on_after_a_restart(service: Service) -> None:
    async with outage(service) as restart, restart.service.desk() as desk:
        await desk.send("before")
        got = []
        async for message in desk.receiver:
            got.append(str(message))
            await desk.receiver.complete_message(message)
            if len(got) == 2:
                break
            await restart.happen()
            await desk.send("after")
        assert got == ["before", "after"]
        assert await desk.stored() == []


@behaviour
async def test_a_waiting_receive_lives_through_a_restart(service: Service) -> None:
    async with outage(service) as restart, restart.service.desk() as desk:
        waiting = asyncio.create_task(desk.receiver.receive_messages(1, max_wait_time=60))
        await asyncio.sleep(1)
        await restart.happen()
        await desk.send("after")
        assert texts(await waiting) == ["after"]


@behaviour
async def test_a_message_in_hand_is_still_locked_and_can_be_completed(service: Service) -> None:
    async with outage(service) as restart, restart.service.desk("steady") as desk:
        await desk.send("x")
        message = await desk.one()
        await restart.happen()
        async with restart.service.receiver(desk.queue) as other:
            await other.assert_empty()
        await desk.receiver.complete_message(message)
        assert await desk.stored() == []


@behaviour
async def test_a_message_in_hand_may_be_renewed_and_abandoned(service: Service) -> None:
    async with outage(service) as restart, restart.service.desk("steady") as desk:
        await desk.send("x")
        message = await desk.one()
        before = message.locked_until_utc
        assert before is not None
        await restart.happen()
        assert await desk.receiver.renew_message_lock(message) > before
        await desk.receiver.abandon_message(message)
        assert (await desk.one()).delivery_count == 1


@behaviour
async def test_a_lock_that_ran_out_during_an_outage_is_lost(service: Service) -> None:
    async with outage(service) as restart, restart.service.desk("short") as desk:
        await desk.send("x")
        message = await desk.one()
        await restart.happen(lambda: until(message.locked_until_utc))
        with pytest.raises(MessageLockLostError):
            await desk.receiver.complete_message(message)
        async with restart.service.receiver(desk.queue) as other:
            assert (await other.one()).delivery_count == 1


@behaviour
async def test_messages_of_every_state_are_still_there(service: Service) -> None:
    async with outage(service) as restart, restart.service.desk("steady") as desk:
        await desk.send_list(["done", "dead", "deferred", "locked", "active"])
        done, dead, deferred, locked = await desk.receive(4)
        await desk.receiver.complete_message(done)
        await desk.receiver.dead_letter_message(dead, reason="r")
        await desk.receiver.defer_message(deferred)
        due = datetime.now(UTC) + timedelta(minutes=5)
        await desk.sender.schedule_messages(ServiceBusMessage("scheduled"), due)
        await restart.happen()
        assert await desk.stored() == ["deferred", "locked", "active", "scheduled"]
        assert texts(await desk.receive(1)) == ["active"]
        assert texts(await desk.fetch(deferred.sequence_number or 0)) == ["deferred"]
        assert [m.dead_letter_reason for m in await desk.dead_letters()] == ["r"]
        assert str(locked) == "locked"


@behaviour
async def test_a_message_that_was_due_during_an_outage_comes_after_it(service: Service) -> None:
    async with outage(service) as restart, restart.service.desk() as desk:
        await desk.send("before")
        await desk.receiver.complete_message(await desk.one())
        due = datetime.now(UTC) + timedelta(seconds=2)
        await desk.sender.schedule_messages(ServiceBusMessage("x"), due)
        await restart.happen(lambda: until(due))
        message = await desk.one()
        assert message.enqueued_time_utc is not None
        assert message.enqueued_time_utc >= due - timedelta(milliseconds=1)


@behaviour
async def test_a_message_that_expired_during_an_outage_is_a_dead_letter(service: Service) -> None:
    async with outage(service) as restart, restart.service.desk("ttl") as desk:
        await desk.send("x", time_to_live=timedelta(seconds=2))
        await restart.happen(lambda: until(datetime.now(UTC) + timedelta(seconds=2)))
        assert await desk.stored() == []
        assert [m.dead_letter_reason for m in await desk.dead_letters()] == ["TTLExpiredException"]


@behaviour
async def test_numbers_go_on_and_duplicates_are_remembered(service: Service) -> None:
    async with outage(service) as restart, restart.service.desk("dup") as desk:
        await desk.send("first", message_id="same")
        await desk.receiver.complete_message(await desk.one())
        await restart.happen()
        await desk.send("duplicate", message_id="same")
        await desk.send("new", message_id="new")
        message = await desk.one()
        assert (str(message), message.sequence_number) == ("new", 2)


@behaviour
async def test_what_was_received_and_deleted_does_not_come_back(service: Service) -> None:
    async with (
        outage(service) as restart,
        restart.service.desk(receive_mode="receiveanddelete") as desk,
    ):
        await desk.send("a", "b")
        assert str(await desk.one()) == "a"
        await restart.happen()
        assert str(await desk.one()) == "b"
        assert await desk.stored() == []


@behaviour
async def test_a_broker_that_is_not_there_is_a_connection_error(service: Service) -> None:
    queue = service.queue()
    async with outage(service) as restart, service.client(retry_total=0) as client:
        errors: list[BaseException] = []

        async def send() -> None:
            try:
                await client.get_queue_sender(queue).send_messages(ServiceBusMessage("x"))
            except ServiceBusConnectionError as error:
                errors.append(error)

        await restart.happen(send)
        assert len(errors) == 1
        await client.get_queue_sender(queue).send_messages(ServiceBusMessage("y"))
        assert len(await client.get_queue_receiver(queue).peek_messages(10)) == 1
