"""Refusals, each with an error that says what to do"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from azure.servicebus import NEXT_AVAILABLE_SESSION, ServiceBusMessage
from azure.servicebus.exceptions import (
    MessagingEntityNotFoundError,
    ServiceBusError,
)

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.refused import token_refused
from tests.broker.conformance.sdk import Service
from tests.broker.process import BrokerProcess

MISSING = "no-such-queue"
RETRY_SECONDS = 60.0
HESITANT: dict[str, Any] = {
    "retry_total": 1,
    "retry_mode": "fixed",
    "retry_backoff_factor": RETRY_SECONDS,
    "retry_backoff_max": RETRY_SECONDS,
}
"""For a client that waits so long before it asks again that nothing else could take that time."""


@contextmanager
def refused_for_good() -> Iterator[None]:
    """The queue is said not to be there, and a hesitant client does not ask again."""
    started = asyncio.get_running_loop().time()
    with pytest.raises(MessagingEntityNotFoundError, match=MISSING):
        yield
    assert asyncio.get_running_loop().time() - started < RETRY_SECONDS


@behaviour
async def test_a_queue_that_does_not_exist_cannot_be_sent_to(service: Service) -> None:
    async with service.client(**HESITANT) as client:
        with refused_for_good():
            await client.get_queue_sender(MISSING).send_messages(ServiceBusMessage("x"))


@behaviour
async def test_a_queue_that_does_not_exist_cannot_be_received_from(service: Service) -> None:
    async with service.client(**HESITANT) as client:
        with refused_for_good():
            await client.get_queue_receiver(MISSING).receive_messages(1, max_wait_time=2 * RETRY_SECONDS)


@behaviour
async def test_a_queue_that_does_not_exist_cannot_be_peeked(service: Service) -> None:
    async with service.client(**HESITANT) as client:
        with refused_for_good():
            await client.get_queue_receiver(MISSING).peek_messages(1)


@behaviour
async def test_nothing_can_be_scheduled_in_a_queue_that_does_not_exist(service: Service) -> None:
    async with service.client(**HESITANT) as client:
        with refused_for_good():
            later = datetime.now(UTC) + timedelta(minutes=5)
            await client.get_queue_sender(MISSING).schedule_messages(ServiceBusMessage("x"), later)


@behaviour
async def test_a_queue_that_does_not_exist_has_no_dead_letters(service: Service) -> None:
    async with service.client(**HESITANT) as client:
        with refused_for_good():
            receiver = client.get_queue_receiver(MISSING, sub_queue="deadletter")
            await receiver.receive_messages(1, max_wait_time=2 * RETRY_SECONDS)


@behaviour
async def test_opening_a_sender_of_a_queue_that_does_not_exist_fails(service: Service) -> None:
    async with service.client(**HESITANT) as client:
        with refused_for_good():
            await client.get_queue_sender(MISSING).__aenter__()


@behaviour
async def test_opening_a_receiver_of_a_queue_that_does_not_exist_fails(service: Service) -> None:
    async with service.client(**HESITANT) as client:
        with refused_for_good():
            await client.get_queue_receiver(MISSING).__aenter__()


@behaviour
async def test_nothing_can_be_sent_to_a_dead_letter_queue(service: Service) -> None:
    async with service.client() as client:
        with pytest.raises(ServiceBusError, match="dead-letter"):
            await client.get_queue_sender("plain-0/$DeadLetterQueue").__aenter__()


@behaviour
async def test_there_are_no_dead_letters_of_transfers(service: Service) -> None:
    async with service.client() as client:
        with pytest.raises(MessagingEntityNotFoundError, match="ransfer"):
            await client.get_queue_receiver("plain-0", sub_queue="transferdeadletter").__aenter__()


@behaviour
async def test_a_receiver_of_a_session_is_refused(service: Service) -> None:
    async with service.client() as client:
        with pytest.raises(ServiceBusError, match=r"plain-0 .*sessions.*without session_id"):
            await client.get_queue_receiver("plain-0", session_id="s").__aenter__()


@behaviour
async def test_a_receiver_of_the_next_session_is_refused(service: Service) -> None:
    async with service.client() as client:
        with pytest.raises(ServiceBusError, match=r"plain-0 .*sessions.*without session_id"):
            await client.get_queue_receiver("plain-0", session_id=NEXT_AVAILABLE_SESSION).__aenter__()


@behaviour
async def test_there_are_no_topics(service: Service) -> None:
    async with service.client() as client:
        with pytest.raises(MessagingEntityNotFoundError, match=r"topic-1.*only queues"):
            await client.get_topic_sender("topic-1").send_messages(ServiceBusMessage("x"))


@behaviour
async def test_there_are_no_subscriptions(service: Service) -> None:
    async with service.client() as client:
        with pytest.raises(MessagingEntityNotFoundError, match=r"(?i)topic-1/subscriptions/s.*only queues"):
            await client.get_subscription_receiver("topic-1", "s").receive_messages(1, max_wait_time=30)


@behaviour
async def test_a_wrong_key_opens_nothing(service: Service) -> None:
    text = service.broker.connection_string.replace("SharedAccessKey=", "SharedAccessKey=not")
    wrong = Service(BrokerProcess(service.broker.folder, service.broker.port, text), service.sdk)
    async with wrong.client(retry_total=0) as client:
        with token_refused("signature"):
            await client.get_queue_sender("plain-0").__aenter__()


@behaviour
async def test_a_key_of_another_name_opens_nothing(service: Service) -> None:
    text = service.broker.connection_string.replace("SharedAccessKeyName=", "SharedAccessKeyName=Other")
    wrong = Service(BrokerProcess(service.broker.folder, service.broker.port, text), service.sdk)
    async with wrong.client(retry_total=0) as client:
        with token_refused("key name"):
            await client.get_queue_receiver("plain-0").__aenter__()


@behaviour
async def test_a_connection_string_for_one_queue_opens_it_and_no_other(service: Service) -> None:
    queue = service.queue()
    text = f"{service.broker.connection_string.rstrip(';')};EntityPath={queue}"
    narrow = Service(BrokerProcess(service.broker.folder, service.broker.port, text), service.sdk)
    async with narrow.client() as client, client.get_queue_sender(queue) as sender:
        await sender.send_messages(ServiceBusMessage("x"))
        with pytest.raises(ValueError, match="queue name"):
            client.get_queue_sender("another")


@behaviour
async def test_a_refusal_leaves_the_client_usable(service: Service) -> None:
    async with service.client() as client:
        with pytest.raises(MessagingEntityNotFoundError):
            await client.get_queue_sender(MISSING).__aenter__()
        async with client.get_queue_sender(service.queue()) as sender:
            await sender.send_messages(ServiceBusMessage("x"))
