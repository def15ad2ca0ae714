"""Dead letters"""

from __future__ import annotations

import pytest
from azure.servicebus import ServiceBusMessage, ServiceBusReceiveMode, ServiceBusSubQueue
from azure.servicebus.exceptions import ServiceBusError

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.desk import Desk, texts
from tests.broker.conformance.sdk import Service


async def dead_letter(desk: Desk, *bodies: str, reason: str | None = None) -> None:
    """Make dead letters of new messages."""
    await desk.send_list(bodies)
    for message in await desk.receive(len(bodies)):
        await desk.receiver.dead_letter_message(message, reason=reason)


@behaviour
async def test_a_dead_lettered_message_keeps_its_properties_and_says_why(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x", application_properties={"mine": 1}, message_id="m", subject="s")
        await desk.receiver.dead_letter_message(
            await desk.one(), reason="Broken", error_description="it is broken"
        )
        await desk.assert_empty()
        (dead,) = await desk.dead_letters()
        assert (str(dead), dead.message_id, dead.subject) == ("x", "m", "s")
        assert (dead.dead_letter_reason, dead.dead_letter_error_description) == ("Broken", "it is broken")
        assert dead.application_properties == {
            b"mine": 1,
            b"DeadLetterReason": b"Broken",
            b"DeadLetterErrorDescription": b"it is broken",
        }


@behaviour
async def test_a_dead_letter_without_reason_has_none(service: Service) -> None:
    async with service.desk() as desk:
        await dead_letter(desk, "x")
        (dead,) = await desk.dead_letters()
        assert (dead.dead_letter_reason, dead.dead_letter_error_description) == (None, None)


@behaviour
async def test_the_last_failed_delivery_moves_a_message_to_the_dead_letters(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("x")
        for expected in range(3):
            message = await desk.one()
            assert message.delivery_count == expected
            await desk.receiver.abandon_message(message)
        await desk.assert_empty()
        (dead,) = await desk.dead_letters()
        assert dead.dead_letter_reason == "MaxDeliveryCountExceeded"
        assert "3" in (dead.dead_letter_error_description or "")


@behaviour
async def test_a_lock_that_runs_out_is_a_failed_delivery_too(service: Service) -> None:
    async with service.desk("once") as desk:
        await desk.send("x")
        await desk.one()
        (dead,) = await desk.dead_letters()
        assert dead.dead_letter_reason == "MaxDeliveryCountExceeded"


@behaviour
async def test_dead_letters_have_numbers_of_their_own(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send("stays")
        await desk.one()
        await dead_letter(desk, "a", "b")
        got = await desk.dead_letters(2)
        assert [(str(m), m.sequence_number, m.enqueued_sequence_number) for m in got] == [
            ("a", 1, 2),
            ("b", 2, 3),
        ]


@behaviour
async def test_the_dead_letter_queue_is_found_in_every_spelling(service: Service) -> None:
    async with service.desk() as desk:
        await dead_letter(desk, "x")
        spellings = ("$DeadLetterQueue", "$deadletterqueue", "$DEADLETTERQUEUE")
        for name in spellings:
            async with desk.client.get_queue_receiver(f"{desk.queue}/{name}") as receiver:
                assert texts(await receiver.peek_messages(1)) == ["x"]
                (message,) = await receiver.receive_messages(1, max_wait_time=10)
                await receiver.abandon_message(message)
        async with desk.another(sub_queue=ServiceBusSubQueue.DEAD_LETTER) as below:
            assert (await below.one()).delivery_count == len(spellings)


@behaviour
async def test_a_dead_letter_is_completed(service: Service) -> None:
    async with service.desk() as desk:
        await dead_letter(desk, "x")
        async with desk.below() as below:
            await below.receiver.complete_message(await below.one())
            assert await below.stored() == []


@behaviour
async def test_a_dead_letter_may_fail_more_often_than_the_queue_allows(service: Service) -> None:
    async with service.desk() as desk:
        await dead_letter(desk, "x", reason="r")
        async with desk.below() as below:
            for expected in range(5):
                message = await below.one()
                assert message.delivery_count == expected
                await below.receiver.abandon_message(message)
            assert (await below.one()).dead_letter_reason == "r"


@behaviour
async def test_a_dead_letter_cannot_be_dead_lettered_again(service: Service) -> None:
    async with service.desk() as desk:
        await dead_letter(desk, "x")
        async with desk.below() as below:
            message = await below.one()
            with pytest.raises(ServiceBusError, match="dead-lettered again"):
                await below.receiver.dead_letter_message(message)  # the SDK closes the receiver after this
        async with desk.below() as below:
            await below.receiver.complete_message(message)
            assert await below.stored() == []


@behaviour
async def test_dead_letters_are_deleted_by_a_receiver_that_deletes(service: Service) -> None:
    async with service.desk() as desk:
        await dead_letter(desk, "a", "b", reason="r")
        async with desk.below(receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE) as below:
            got = await below.receive(2)
            assert [(str(m), m.dead_letter_reason) for m in got] == [("a", "r"), ("b", "r")]
            assert await below.stored() == []


@behaviour
async def test_a_dead_letter_may_be_sent_back_to_its_queue(service: Service) -> None:
    async with service.desk() as desk:
        await dead_letter(desk, "x", reason="r")
        async with desk.below() as below:
            dead = await below.one()
            await desk.sender.send_messages(ServiceBusMessage(b"".join(dead.body), subject="again"))
            await below.receiver.complete_message(dead)
        message = await desk.one()
        assert (str(message), message.subject, message.dead_letter_reason) == ("x", "again", None)


@behaviour
async def test_the_lock_of_a_dead_letter_is_renewed(service: Service) -> None:
    async with service.desk() as desk:
        await dead_letter(desk, "x")
        async with desk.below() as below:
            dead = await below.one()
            before = dead.locked_until_utc
            assert before is not None
            assert await below.receiver.renew_message_lock(dead) >= before
