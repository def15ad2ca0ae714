"""Time to live"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from azure.servicebus import ServiceBusMessage

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.desk import texts, until
from tests.broker.conformance.sdk import Service

SOON = timedelta(seconds=1)


@behaviour
async def test_an_expired_message_becomes_a_dead_letter(service: Service) -> None:
    async with service.desk("ttl") as desk:
        await desk.send("x", time_to_live=SOON, application_properties={"mine": 1})
        (dead,) = await desk.dead_letters()
        assert (str(dead), dead.dead_letter_reason) == ("x", "TTLExpiredException")
        assert (dead.application_properties or {})[b"mine"] == 1
        await desk.assert_empty()


@behaviour
async def test_an_expired_message_is_dropped_where_dead_lettering_is_off(service: Service) -> None:
    async with service.desk("plain") as desk:
        await desk.send("x", time_to_live=SOON)
        await until(datetime.now(UTC) + SOON)
        assert await desk.stored() == []
        await desk.assert_empty()
        async with desk.below() as below:
            assert await below.stored() == []


@behaviour
async def test_a_message_without_time_to_live_expires_by_that_of_its_queue(service: Service) -> None:
    async with service.desk("expiring") as desk:
        await desk.send("x")
        (dead,) = await desk.dead_letters()
        assert (dead.dead_letter_reason, dead.time_to_live) == ("TTLExpiredException", None)


@behaviour
async def test_the_shorter_of_both_times_to_live_counts(service: Service) -> None:
    async with service.desk("expiring") as desk:
        await desk.send("x", time_to_live=timedelta(hours=1))
        assert texts(await desk.dead_letters()) == ["x"]


@behaviour
async def test_a_message_says_when_it_expires(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x", time_to_live=timedelta(minutes=5))
        got = await desk.one()
        assert got.enqueued_time_utc is not None
        assert got.expires_at_utc == got.enqueued_time_utc + timedelta(minutes=5)


@behaviour
async def test_a_message_without_time_to_live_does_not_expire(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        got = await desk.one()
        assert (got.time_to_live, got.expires_at_utc) == (None, None)


@behaviour
async def test_no_time_to_live_is_observed_among_dead_letters(service: Service) -> None:
    async with service.desk("ttl") as desk:
        await desk.send("x", time_to_live=SOON)
        async with desk.below() as below:
            dead = await below.one()
            await until(dead.expires_at_utc)
            await below.receiver.abandon_message(dead)
            again = await below.one()
            assert again.delivery_count == dead.delivery_count + 1
            assert again.expires_at_utc is not None
            assert again.expires_at_utc < datetime.now(UTC)


@behaviour
async def test_a_message_that_expires_in_hand_can_still_be_completed(service: Service) -> None:
    async with service.desk("ttl") as desk:
        await desk.send("x", time_to_live=timedelta(seconds=2))
        message = await desk.one()
        await until(message.expires_at_utc)
        await desk.receiver.complete_message(message)
        async with desk.below() as below:
            assert await below.stored() == []


@behaviour
async def test_a_message_that_expired_in_hand_is_not_given_out_again(service: Service) -> None:
    async with service.desk("ttl") as desk:
        await desk.send("x", time_to_live=timedelta(seconds=2))
        message = await desk.one()
        await until(message.expires_at_utc)
        await desk.receiver.abandon_message(message)
        await desk.assert_empty()
        (dead,) = await desk.dead_letters()
        assert dead.dead_letter_reason == "TTLExpiredException"


@behaviour
async def test_the_time_to_live_of_a_scheduled_message_begins_when_it_is_due(service: Service) -> None:
    async with service.desk("ttl") as desk:
        due = datetime.now(UTC) + timedelta(seconds=2)
        message = ServiceBusMessage("x", time_to_live=SOON, scheduled_enqueue_time_utc=due)
        await desk.sender.send_messages(message)
        (dead,) = await desk.dead_letters()
        assert datetime.now(UTC) >= due + SOON - timedelta(milliseconds=5)
        assert dead.dead_letter_reason == "TTLExpiredException"


@behaviour
async def test_messages_of_a_batch_expire_one_by_one(service: Service) -> None:
    async with service.desk("ttl") as desk:
        await desk.sender.send_messages(
            [ServiceBusMessage("stays"), ServiceBusMessage("goes", time_to_live=SOON)]
        )
        assert texts(await desk.dead_letters()) == ["goes"]
        assert await desk.stored() == ["stays"]
