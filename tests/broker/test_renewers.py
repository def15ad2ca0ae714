"""The SDK's renewer of locks with its default workers, blocking and `aio`, on many messages at once.

A lock of 15 s is renewed from 5 s on, so all locks have the same 10 s for it, again and again: on a busy
machine that is too little for 300, which therefore run by name.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from threading import Timer

import pytest
from azure.servicebus import (
    AutoLockRenewer,
    ServiceBusClient,
    ServiceBusMessage,
    ServiceBusReceivedMessage,
    ServiceBusReceiver,
)
from azure.servicebus.aio import AutoLockRenewer as AsyncAutoLockRenewer

from tests.broker.client import desk_of
from tests.broker.process import BrokerProcess

pytestmark = pytest.mark.broker
MANY = pytest.mark.parametrize("count", [pytest.param(count, marks=pytest.mark.slow) for count in (100, 300)])
"""Sixty are held in the usual run, by `tests/broker/conformance/test_concurrency.py`."""
HELD_SECONDS = 19
LIMIT = 120.0
"""Seconds for the blocking test, whose threads cannot be interrupted, only left without a broker."""


def errors_of(messages: list[ServiceBusReceivedMessage]) -> set[str]:
    """What the renewer said about them."""
    return {repr(message.auto_renew_error) for message in messages}


@pytest.fixture
def ended(broker: BrokerProcess) -> Iterator[None]:
    """Takes the broker away from a test that hangs: every call of the SDK then ends with an error."""
    timer = Timer(LIMIT, broker.kill)
    timer.start()
    yield
    timer.cancel()
    timer.join()


@MANY
@pytest.mark.usefixtures("ended")
def test_all_locks_are_kept_by_the_blocking_renewer_and_each_message_is_completed(
    broker: BrokerProcess, count: int
) -> None:
    queue = broker.queue("long")
    with (
        ServiceBusClient.from_connection_string(broker.connection_string) as client,
        client.get_queue_sender(queue) as sender,
        client.get_queue_receiver(queue) as receiver,
        AutoLockRenewer() as renewer,
    ):
        sender.send_messages([ServiceBusMessage(f"{n}") for n in range(count)])
        got = receive(receiver, count)
        for message in got:
            renewer.register(receiver, message, max_lock_renewal_duration=LIMIT)
        time.sleep(HELD_SECONDS)
        assert errors_of(got) == {"None"}
        for message in got:
            receiver.complete_message(message)
        assert receiver.peek_messages(1, sequence_number=1) == []
    assert {message.delivery_count for message in got} == {0}


def receive(receiver: ServiceBusReceiver, count: int) -> list[ServiceBusReceivedMessage]:
    """Exactly `count` messages."""
    found: list[ServiceBusReceivedMessage] = []
    while len(found) < count:
        more = receiver.receive_messages(count - len(found), max_wait_time=10)
        assert more, f"{len(found)} of {count} messages came"
        found += more
    return found


@MANY
async def test_all_locks_are_kept_by_the_async_renewer_and_each_message_is_completed(
    broker: BrokerProcess, count: int
) -> None:
    async with desk_of(broker, "long") as desk, AsyncAutoLockRenewer() as renewer:
        await desk.sender.send_messages([ServiceBusMessage(f"{n}") for n in range(count)])
        got = await desk.receive(count)
        for message in got:
            renewer.register(desk.receiver, message, max_lock_renewal_duration=LIMIT)
        await asyncio.sleep(HELD_SECONDS)
        assert errors_of(got) == {"None"}
        for message in got:
            await desk.receiver.complete_message(message)
        assert await desk.receiver.peek_messages(1, sequence_number=1) == []
    assert {message.delivery_count for message in got} == {0}
