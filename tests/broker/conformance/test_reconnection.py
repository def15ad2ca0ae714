"""Lost links and connections"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from azure.servicebus import ServiceBusMessage

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.desk import texts
from tests.broker.conformance.sdk import Service


@behaviour
async def test_a_sender_that_lost_its_connection_goes_on(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("before")
        await service.break_connection(desk.sender)
        await desk.send("after")
        assert await desk.stored() == ["before", "after"]


@behaviour
async def test_a_receiver_that_lost_its_connection_goes_on(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("before")
        await desk.receiver.complete_message(await desk.one())
        await service.break_connection(desk.receiver)
        await desk.send("after")
        assert str(await desk.one()) == "after"


@behaviour
async def test_an_iterator_that_lost_its_connection_goes_on(service: Service) -> None:
    async with service.desk(max_wait_time=8) as desk:
        await desk.send_list(range(4))
        got = []
        async for message in desk.receiver:
            got.append(str(message))
            await desk.receiver.complete_message(message)
            if len(got) == 2:
                await service.break_connection(desk.receiver)
            if len(got) == 4:
                break
        assert got == ["0", "1", "2", "3"]
        assert await desk.stored() == []


@behaviour
async def test_peeking_goes_on_after_a_lost_connection_where_it_was(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send_list(range(4))
        assert texts(await desk.receiver.peek_messages(2)) == ["0", "1"]
        await service.break_connection(desk.receiver)
        assert texts(await desk.receiver.peek_messages(2)) == ["2", "3"]


@behaviour
async def test_scheduling_goes_on_after_a_lost_connection(service: Service) -> None:
    async with service.desk() as desk:
        later = datetime.now(UTC) + timedelta(minutes=5)
        (first,) = await desk.sender.schedule_messages(ServiceBusMessage("x"), later)
        await service.break_connection(desk.sender)
        await desk.sender.cancel_scheduled_messages(first)
        await desk.sender.schedule_messages(ServiceBusMessage("y"), later)
        assert await desk.stored() == ["y"]


@behaviour
async def test_what_a_lost_connection_had_locked_stays_locked_until_its_lock_ends(service: Service) -> None:
    async with service.desk("short") as desk:
        await desk.send("x")
        async with desk.another() as losing:
            message = await losing.one()
            await service.break_connection(losing.receiver)
            again = await desk.one()
            assert message.locked_until_utc is not None
            assert datetime.now(UTC) >= message.locked_until_utc
            assert again.delivery_count == 1


@behaviour
async def test_a_lock_is_renewed_though_its_connection_broke(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        message = await desk.one()
        before = message.locked_until_utc
        assert before is not None
        await service.break_connection(desk.receiver)
        assert await desk.receiver.renew_message_lock(message) > before
        await desk.receiver.complete_message(message)
        assert await desk.stored() == []


@behaviour
async def test_a_deferred_message_is_fetched_after_a_lost_connection(service: Service) -> None:
    async with service.desk() as desk:
        numbers = await desk.deferred("x")
        await service.break_connection(desk.receiver)
        assert texts(await desk.fetch(*numbers)) == ["x"]


@behaviour
async def test_handlers_that_were_idle_work_at_once(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("before")
        await desk.receiver.complete_message(await desk.one())
        connections = [service.connection(handler) for handler in (desk.sender, desk.receiver)]
        await asyncio.sleep(7)  # the keep-alive of an idle receiver runs every five seconds
        await desk.send("after")
        assert str(await desk.one()) == "after"
        assert [service.connection(handler) for handler in (desk.sender, desk.receiver)] == connections
