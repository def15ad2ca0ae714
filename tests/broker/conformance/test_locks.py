"""Locks and their renewal"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from azure.servicebus import ServiceBusReceivedMessage
from azure.servicebus.exceptions import AutoLockRenewTimeout, MessageLockLostError

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.sdk import Service


def without_lock_time(message: ServiceBusReceivedMessage) -> None:
    """Else the client does not even ask the broker once the lock has run out."""
    (message._raw_amqp_message.annotations or {}).pop(b"x-opt-locked-until")


@behaviour
async def test_a_lock_that_runs_out_gives_the_message_back_counted(service: Service) -> None:
    async with service.desk("short") as desk:
        await desk.send("x")
        first = await desk.one()
        second = await desk.one()
        assert first.locked_until_utc is not None
        assert datetime.now(UTC) >= first.locked_until_utc
        assert (second.sequence_number, second.delivery_count) == (first.sequence_number, 1)
        assert second.lock_token != first.lock_token


@behaviour
async def test_nothing_can_be_done_with_a_lock_that_was_lost(service: Service) -> None:
    async with service.desk("short") as desk, desk.another() as other:
        await desk.send("x")
        message = await desk.one()
        again = await other.one()
        without_lock_time(message)
        for act in (
            desk.receiver.complete_message,
            desk.receiver.abandon_message,
            desk.receiver.renew_message_lock,
        ):
            with pytest.raises(MessageLockLostError):
                await act(message)
        assert (str(again), again.delivery_count) == ("x", 1)


@behaviour
async def test_what_was_lost_and_settled_by_its_next_holder_stays_settled(service: Service) -> None:
    async with service.desk("short") as desk, desk.another() as other:
        await desk.send("x")
        message = await desk.one()
        await other.receiver.complete_message(await other.one())
        without_lock_time(message)
        with pytest.raises(MessageLockLostError):
            await desk.receiver.abandon_message(message)
        assert await desk.stored() == []


@behaviour
async def test_renewing_extends_a_lock_by_its_whole_duration_from_now(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        message = await desk.one()
        await asyncio.sleep(0.5)
        before = datetime.now(UTC)
        until = await desk.receiver.renew_message_lock(message)
        assert until == message.locked_until_utc
        assert before + timedelta(seconds=30, milliseconds=-2) <= until
        assert until <= datetime.now(UTC) + timedelta(seconds=30, milliseconds=2)


@behaviour
async def test_a_renewed_lock_outlives_its_first_duration(service: Service) -> None:
    async with service.desk("kept") as desk, desk.another() as other:
        await desk.send("x")
        message = await desk.one()
        first_end = message.locked_until_utc
        assert first_end is not None
        while datetime.now(UTC) <= first_end:
            await asyncio.sleep(1)
            await desk.receiver.renew_message_lock(message)
        await other.assert_empty()
        await desk.receiver.complete_message(message)
        assert await desk.stored() == []


@behaviour
async def test_a_lock_may_be_renewed_by_another_receiver(service: Service) -> None:
    async with service.desk() as desk, desk.another() as other:
        await desk.send("x")
        message = await desk.one()
        before = message.locked_until_utc
        assert before is not None
        assert await other.receiver.renew_message_lock(message) > before


@behaviour
async def test_the_renewer_keeps_a_lock_and_lets_go_when_its_time_is_over(service: Service) -> None:
    lost: list[Any] = []
    renewer = service.renewer(on_lost=lambda message, error: lost.append((message, error)))
    async with service.desk("kept") as desk, renewer:
        await desk.send("x")
        message = await desk.one()
        first_end = message.locked_until_utc
        renewer.register(desk.receiver, message, max_lock_renewal_duration=3)
        again = (await desk.receive(wait=30))[0]
        assert message.locked_until_utc is not None
        assert first_end is not None
        assert message.locked_until_utc > first_end
        assert again.delivery_count == 1
        with pytest.raises(MessageLockLostError):
            await desk.receiver.complete_message(message)
        assert isinstance(message.auto_renew_error, AutoLockRenewTimeout)
        await desk.receiver.complete_message(again)


@behaviour
async def test_a_receiver_with_a_renewer_keeps_its_locks_by_itself(service: Service) -> None:
    async with (
        service.renewer() as renewer,
        service.desk("kept", auto_lock_renewer=renewer) as desk,
        desk.another() as other,
    ):
        await desk.send("x")
        message = await desk.one()
        first_end = message.locked_until_utc
        assert first_end is not None
        while datetime.now(UTC) <= first_end + timedelta(seconds=1):
            await other.assert_empty(1)
        await desk.receiver.complete_message(message)
        assert await desk.stored() == []


@behaviour
async def test_a_settled_message_is_renewed_no_more(service: Service) -> None:
    async with service.desk("kept") as desk, service.renewer() as renewer:
        await desk.send("x")
        message = await desk.one()
        renewer.register(desk.receiver, message)
        await desk.receiver.complete_message(message)
        await asyncio.sleep(2)
        assert message.auto_renew_error is None
