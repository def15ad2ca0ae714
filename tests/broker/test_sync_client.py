"""The blocking SDK, whose threads use one session at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from azure.servicebus import (
    AutoLockRenewer,
    ServiceBusClient,
    ServiceBusMessage,
    ServiceBusReceivedMessage,
    ServiceBusReceiver,
)

from tests.broker.process import BrokerProcess

pytestmark = pytest.mark.broker


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[ServiceBusClient]:
    """A blocking SDK client."""
    with ServiceBusClient.from_connection_string(broker.connection_string) as client:
        yield client


def receive(receiver: ServiceBusReceiver, count: int) -> list[ServiceBusReceivedMessage]:
    """Exactly `count` messages."""
    found: list[ServiceBusReceivedMessage] = []
    while len(found) < count:
        more = receiver.receive_messages(count - len(found), max_wait_time=10)
        assert more, f"{len(found)} of {count} messages came"
        found += more
    return found


def test_messages_are_sent_received_and_settled_in_every_way(
    broker: BrokerProcess, client: ServiceBusClient
) -> None:
    queue = broker.queue()
    with client.get_queue_sender(queue) as sender, client.get_queue_receiver(queue) as receiver:
        sender.send_messages([ServiceBusMessage(f"{n}") for n in range(4)])
        done, again, dead, later = receive(receiver, 4)
        receiver.complete_message(done)
        receiver.abandon_message(again)
        receiver.dead_letter_message(dead, reason="r", error_description="d")
        receiver.defer_message(later)
        (again,) = receive(receiver, 1)
        assert again.delivery_count == 1
        receiver.complete_message(again)
        (later,) = receiver.receive_deferred_messages(later.sequence_number or 0)
        receiver.complete_message(later)
    with client.get_queue_receiver(queue, sub_queue="deadletter") as receiver:
        (dead,) = receive(receiver, 1)
        assert (dead.dead_letter_reason, dead.dead_letter_error_description) == ("r", "d")
        receiver.complete_message(dead)


def test_sixty_locks_are_kept_by_the_renewer_with_its_default_workers(
    broker: BrokerProcess, client: ServiceBusClient
) -> None:
    queue = broker.queue("long")
    with (
        client.get_queue_sender(queue) as sender,
        client.get_queue_receiver(queue) as receiver,
        AutoLockRenewer() as renewer,
    ):
        sender.send_messages([ServiceBusMessage(f"{n}") for n in range(60)])
        got = receive(receiver, 60)
        for message in got:
            renewer.register(receiver, message, max_lock_renewal_duration=60)
        time.sleep(12)
        for message in got:
            receiver.complete_message(message)
        assert [m.auto_renew_error for m in got] == [None] * 60
        assert receiver.peek_messages(10, sequence_number=1) == []


def test_concurrent_peeks_from_threads_are_each_answered(
    broker: BrokerProcess, client: ServiceBusClient
) -> None:
    queue = broker.queue()
    with client.get_queue_sender(queue) as sender, client.get_queue_receiver(queue) as receiver:
        sender.send_messages([ServiceBusMessage(f"{n}") for n in range(10)])
        receiver.peek_messages(1)
        with ThreadPoolExecutor(8) as pool:
            answers = list(
                pool.map(lambda n: receiver.peek_messages(1, sequence_number=n % 10 + 1), range(60))
            )
        assert [str(answer[0]) for answer in answers] == [f"{n % 10}" for n in range(60)]
