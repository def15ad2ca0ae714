"""Receive and delete"""

from __future__ import annotations

from functools import partial

import pytest
from azure.servicebus import ServiceBusReceiveMode

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.desk import texts
from tests.broker.conformance.sdk import Service

DELETING = {"receive_mode": ServiceBusReceiveMode.RECEIVE_AND_DELETE}


@behaviour
async def test_what_is_received_is_gone(service: Service) -> None:
    async with service.desk(**DELETING) as desk:
        await desk.send("a", "b", "c")
        assert await desk.stored() == ["a", "b", "c"]
        assert texts(await desk.receive(2)) == ["a", "b"]
        assert await desk.stored() == ["c"]


@behaviour
async def test_such_a_message_has_no_lock(service: Service) -> None:
    async with service.desk(**DELETING) as desk:
        await desk.send("x")
        message = await desk.one()
        assert (message.lock_token, message.locked_until_utc, message.delivery_count) == (None, None, 0)


@behaviour
async def test_such_a_message_cannot_be_settled_or_renewed(service: Service) -> None:
    async with service.desk(**DELETING) as desk:
        await desk.send("x")
        message = await desk.one()
        for act in (
            desk.receiver.complete_message,
            desk.receiver.abandon_message,
            desk.receiver.defer_message,
            partial(desk.receiver.dead_letter_message, reason="r"),
            desk.receiver.renew_message_lock,
        ):
            with pytest.raises(ValueError, match=r"(?i)receive_and_delete"):
                await act(message)


@behaviour
async def test_such_messages_keep_their_order_and_properties(service: Service) -> None:
    async with service.desk(**DELETING) as desk:
        await desk.send_list(range(20))
        await desk.send("last", application_properties={"mine": 1}, message_id="m")
        got = await desk.as_they_come(21)
        assert texts(got) == [*(f"{n}" for n in range(20)), "last"]
        assert (got[-1].message_id, got[-1].application_properties) == ("m", {b"mine": 1})


@behaviour
async def test_prefetched_messages_are_gone_when_they_are_fetched(service: Service) -> None:
    async with service.desk() as desk, desk.another(prefetch_count=10, **DELETING) as deleting:
        await desk.send_list(range(5))
        assert texts(await deleting.receive(5)) == [f"{n}" for n in range(5)]
        assert await desk.stored() == []


@behaviour
async def test_an_iterator_deletes_only_what_it_gives(service: Service) -> None:
    async with service.desk(max_wait_time=10, **DELETING) as desk:
        await desk.send_list(range(4))
        got = []
        async for message in desk.receiver:
            got.append(str(message))
            if len(got) == 2:
                break
        assert got == ["0", "1"]
        assert await desk.stored() == ["2", "3"]


@behaviour
async def test_a_receiver_that_lost_its_connection_goes_on_and_gets_each_message_once(
    service: Service,
) -> None:
    async with service.desk(max_wait_time=4, **DELETING) as desk:
        await desk.send_list(range(5))
        got = texts(await desk.receive(2))
        await service.break_connection(desk.receiver)
        got += [str(message) async for message in desk.receiver]
        assert got == [f"{n}" for n in range(5)]


@behaviour
async def test_locked_messages_are_left_alone(service: Service) -> None:
    async with service.desk() as desk, desk.another(**DELETING) as deleting:
        await desk.send("locked", "free")
        locked = await desk.one()
        assert texts(await deleting.receive(1)) == ["free"]
        await deleting.assert_empty()
        await desk.receiver.complete_message(locked)
