"""Receiving and settling, seen through the aio SDK."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from azure.servicebus import (
    NEXT_AVAILABLE_SESSION,
    ServiceBusMessage,
    ServiceBusMessageState,
    ServiceBusReceivedMessage,
    ServiceBusReceiveMode,
    ServiceBusSubQueue,
)
from azure.servicebus.aio import AutoLockRenewer
from azure.servicebus.exceptions import (
    MessageLockLostError,
    MessageNotFoundError,
    OperationTimeoutError,
    ServiceBusError,
)

from tests.broker.client import Desk, client_of, desk_of
from tests.broker.process import BrokerProcess
from tests.broker.together import scenario

pytestmark = pytest.mark.broker


async def dead_letters(desk: Desk, count: int = 1) -> list[ServiceBusReceivedMessage]:
    """Messages of the dead-letter queue, completed."""
    async with desk.client.get_queue_receiver(
        desk.queue, sub_queue=ServiceBusSubQueue.DEAD_LETTER
    ) as receiver:
        found = await Desk(desk.client, desk.queue, desk.sender, receiver).receive(count)
        for message in found:
            await receiver.complete_message(message)
        return found


@scenario
async def test_a_completed_message_is_gone(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        await desk.send("x")
        await desk.receiver.complete_message(await desk.one())
        assert await desk.receiver.peek_messages(10, sequence_number=1) == []


@scenario
async def test_an_abandoned_message_comes_again_and_counts(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        await desk.send("x")
        for expected in (0, 1):
            message = await desk.one()
            assert message.delivery_count == expected
            await desk.receiver.abandon_message(message)
        assert (await desk.one()).delivery_count == 2


@scenario
async def test_the_last_failed_delivery_moves_a_message_to_the_dead_letters(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        await desk.send("x")
        for _ in range(3):
            await desk.receiver.abandon_message(await desk.one())
        await desk.assert_empty()
        (dead,) = await dead_letters(desk)
        assert dead.dead_letter_reason == "MaxDeliveryCountExceeded"
        assert "3" in (dead.dead_letter_error_description or "")


@scenario
async def test_a_dead_lettered_message_keeps_its_properties_and_says_why(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        await desk.send("x", application_properties={"mine": 1}, message_id="m")
        await desk.receiver.dead_letter_message(
            await desk.one(), reason="Broken", error_description="it is broken"
        )
        (dead,) = await dead_letters(desk)
        assert str(dead) == "x"
        assert dead.message_id == "m"
        assert dead.application_properties == {
            b"mine": 1,
            b"DeadLetterReason": b"Broken",
            b"DeadLetterErrorDescription": b"it is broken",
        }


@scenario
async def test_a_dead_letter_without_reason_has_none(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        await desk.send("x")
        await desk.receiver.dead_letter_message(await desk.one())
        (dead,) = await dead_letters(desk)
        assert (dead.dead_letter_reason, dead.dead_letter_error_description) == (None, None)


@scenario
async def test_a_dead_letter_cannot_be_dead_lettered_again(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        await desk.send("x")
        await desk.receiver.dead_letter_message(await desk.one())
        async with desk_of(broker, queue=desk.queue, sub_queue=ServiceBusSubQueue.DEAD_LETTER) as below:
            message = await below.one()
            with pytest.raises(ServiceBusError):
                await below.receiver.dead_letter_message(message)  # the SDK closes the receiver after this
        async with desk_of(broker, queue=desk.queue, sub_queue=ServiceBusSubQueue.DEAD_LETTER) as again:
            await again.receiver.complete_message(message)


@scenario
async def test_a_lock_that_runs_out_gives_the_message_back_counted(broker: BrokerProcess) -> None:
    async with desk_of(broker, "short") as desk:
        await desk.send("x")
        first = await desk.one()
        second = await desk.one()
        assert first.locked_until_utc is not None
        assert datetime.now(UTC) >= first.locked_until_utc
        assert (second.sequence_number, second.delivery_count) == (first.sequence_number, 1)
        assert second.lock_token != first.lock_token


@scenario
async def test_a_renewed_lock_outlives_its_first_duration(broker: BrokerProcess) -> None:
    async with desk_of(broker, "kept") as desk, desk_of(broker, queue=desk.queue) as other:
        await desk.send("x")
        message = await desk.one()
        for _ in range(4):
            await asyncio.sleep(1.5)
            before = message.locked_until_utc
            assert before is not None
            assert await desk.receiver.renew_message_lock(message) > before
            await other.assert_empty(0.1)
        await desk.receiver.complete_message(message)


@scenario
async def test_settling_after_the_lock_was_lost_is_an_error(broker: BrokerProcess) -> None:
    async with desk_of(broker, "short") as desk:
        await desk.send("x")
        message = await desk.one()
        message._raw_amqp_message.annotations.pop(b"x-opt-locked-until")  # else the client does not even ask
        await asyncio.sleep(2)
        for settle in (desk.receiver.complete_message, desk.receiver.abandon_message):
            with pytest.raises(MessageLockLostError):
                await settle(message)
        with pytest.raises(MessageLockLostError):
            await desk.receiver.renew_message_lock(message)
        assert (await desk.one()).delivery_count == 1


@scenario
async def test_a_message_may_be_settled_on_another_connection(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk, desk_of(broker, queue=desk.queue) as other:
        await desk.send("complete", "abandon", "dead-letter")
        first, second, third = await desk.receive(3)
        await other.receiver.complete_message(first)
        await other.receiver.abandon_message(second)
        await other.receiver.dead_letter_message(third, reason="r", error_description="d")
        again = await other.one()
        assert (str(again), again.delivery_count) == ("abandon", 1)
        (dead,) = await dead_letters(desk)
        assert (dead.dead_letter_reason, dead.dead_letter_error_description) == ("r", "d")


@scenario
async def test_a_message_is_settled_though_its_connection_broke(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        await desk.send("x")
        message = await desk.one()
        connection: Any = desk.receiver._handler._connection
        connection._transport.writer.transport.abort()
        await desk.receiver.complete_message(message)
        await desk.assert_empty()


@scenario
async def test_a_message_is_settled_though_its_link_was_detached(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        await desk.send("x")
        message = await desk.one()
        handler: Any = desk.receiver._handler
        await handler._link.detach()
        await desk.receiver.complete_message(message)
        assert await desk.receiver.peek_messages(10, sequence_number=1) == []


@scenario
async def test_a_deferred_message_is_only_had_by_its_number(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        await desk.send("done", "again", "dead")
        numbers = []
        for message in await desk.receive(3):
            numbers.append(message.sequence_number or 0)
            await desk.receiver.defer_message(message)
        await desk.assert_empty()
        done, again, dead = await desk.receiver.receive_deferred_messages(numbers)
        assert done.state is ServiceBusMessageState.DEFERRED
        await desk.receiver.renew_message_lock(done)
        await desk.receiver.complete_message(done)
        await desk.receiver.abandon_message(again)
        await desk.receiver.dead_letter_message(dead, reason="r")
        (once_more,) = await desk.receiver.receive_deferred_messages(numbers[1])
        assert str(once_more) == "again"
        assert (await dead_letters(desk))[0].dead_letter_reason == "r"


@scenario
async def test_asking_for_a_number_that_is_not_deferred_is_an_error(broker: BrokerProcess) -> None:
    async with (
        client_of(broker, retry_total=0) as client,
        client.get_queue_receiver(broker.queue()) as receiver,
    ):
        with pytest.raises(MessageNotFoundError):
            await receiver.receive_deferred_messages([5])


@scenario
async def test_peeking_shows_messages_of_every_state_and_takes_none(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
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
        assert all(m.lock_token is None and m.locked_until_utc is None for m in peeked)
        assert str(await desk.one()) == "active"


@scenario
async def test_peeking_large_messages_gives_some_at_a_time_and_in_the_end_all(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        for _ in range(5):
            await desk.sender.send_messages(ServiceBusMessage(b"x" * 100_000))
        seen = []
        while more := await desk.receiver.peek_messages(10):
            seen += more
        assert [m.sequence_number for m in seen] == [1, 2, 3, 4, 5]


@scenario
async def test_concurrent_peeks_on_one_receiver_are_each_answered(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        await desk.sender.send_messages([ServiceBusMessage(f"{n}") for n in range(10)])
        answers = await asyncio.gather(
            *(desk.receiver.peek_messages(1, sequence_number=n % 10 + 1) for n in range(60))
        )
        assert [str(answer[0]) for answer in answers] == [f"{n % 10}" for n in range(60)]


@scenario
async def test_receive_and_delete_leaves_nothing_behind(broker: BrokerProcess) -> None:
    async with desk_of(broker, receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE) as desk:
        await desk.send("a", "b")
        got = await desk.receive(2)
        assert [str(m) for m in got] == ["a", "b"]
        assert all(m.lock_token is None for m in got)
        assert await desk.receiver.peek_messages(10, sequence_number=1) == []


@scenario
async def test_an_expired_message_becomes_a_dead_letter(broker: BrokerProcess) -> None:
    async with desk_of(broker, "expiring") as desk:
        await desk.send("x")
        (dead,) = await dead_letters(desk)
        assert dead.dead_letter_reason == "TTLExpiredException"


@scenario
async def test_two_receivers_share_a_queue_evenly(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk, desk_of(broker, queue=desk.queue) as other:
        waiting = [
            asyncio.create_task(d.receiver.receive_messages(10, max_wait_time=10)) for d in (desk, other)
        ]
        await asyncio.sleep(2)
        await desk.sender.send_messages([ServiceBusMessage(f"{n}") for n in range(10)])
        assert [len(got) for got in await asyncio.gather(*waiting)] == [5, 5]


@scenario
async def test_credit_left_with_an_idle_receiver_costs_no_delivery(broker: BrokerProcess) -> None:
    async with desk_of(broker) as idle, desk_of(broker, queue=idle.queue) as busy:
        await idle.send("first")
        assert len(await idle.receiver.receive_messages(10, max_wait_time=5)) == 1
        await idle.send("second")  # goes to the idle receiver, which has credit and does not read
        message = (await busy.receive(wait=20))[0]
        assert (str(message), message.delivery_count) == ("second", 0)


@scenario
async def test_a_closed_receiver_gives_back_what_the_application_never_saw(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        async with desk.client.get_queue_receiver(desk.queue, prefetch_count=10) as fetching:
            await desk.send("seen", "unseen")
            (seen,) = await fetching.receive_messages(1, max_wait_time=10)
        message = await desk.one()
        assert (str(message), message.delivery_count, str(seen)) == ("unseen", 0, "seen")
        await desk.assert_empty()


@scenario
async def test_a_prefetching_receiver_gets_everything_once(broker: BrokerProcess) -> None:
    async with desk_of(broker, prefetch_count=7) as desk:
        await desk.sender.send_messages([ServiceBusMessage(f"{n}") for n in range(60)])
        got = await desk.receive(60)
        for message in got:
            await desk.receiver.complete_message(message)
        assert [str(m) for m in got] == [f"{n}" for n in range(60)]


@scenario
async def test_a_waiting_iterator_gets_a_message_sent_later(broker: BrokerProcess) -> None:
    async with desk_of(broker, max_wait_time=10) as desk:

        async def first() -> str:
            async for message in desk.receiver:
                await desk.receiver.complete_message(message)
                return str(message)
            return "nothing came"

        waiting = asyncio.create_task(first())
        await asyncio.sleep(1)
        await desk.send("late")
        assert await waiting == "late"


@scenario
async def test_a_session_receiver_is_refused_on_a_queue_without_sessions(broker: BrokerProcess) -> None:
    async with client_of(broker, retry_total=0) as client:
        for wanted in ("id", NEXT_AVAILABLE_SESSION):
            with pytest.raises(ServiceBusError, match="no sessions") as caught:
                async with client.get_queue_receiver("plain-0", session_id=wanted):
                    pass
            assert not isinstance(caught.value, OperationTimeoutError)


@scenario
async def test_a_hundred_locks_are_kept_by_the_renewer_with_its_default_workers(
    broker: BrokerProcess,
) -> None:
    async with desk_of(broker, "long") as desk, AutoLockRenewer() as renewer:
        await desk.sender.send_messages([ServiceBusMessage(f"{n}") for n in range(100)])
        got = await desk.receive(100)
        for message in got:
            renewer.register(desk.receiver, message, max_lock_renewal_duration=60)
        await asyncio.sleep(17)
        assert {repr(m.auto_renew_error) for m in got} == {"None"}
        for message in got:
            await desk.receiver.complete_message(message)
        assert await desk.receiver.peek_messages(10, sequence_number=1) == []


@scenario
async def test_many_settlements_at_once_are_each_confirmed(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk:
        await desk.sender.send_messages([ServiceBusMessage(f"{n}") for n in range(50)])
        await asyncio.gather(*(desk.receiver.complete_message(m) for m in await desk.receive(50)))
        assert await desk.receiver.peek_messages(10, sequence_number=1) == []
