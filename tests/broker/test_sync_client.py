"""The blocking SDK, whose threads use one session at once.

One limit is the SDK's own (azure-servicebus 7.15.0, `ManagementLink.execute_operation`): it writes a
request and registers it only then, so another thread that reads the answer in between drops it, and the
call waits for ever. Nothing on the wire tells a broker that this happened. The SDK's remedy is
`try_timeout`: it bounds every attempt, and the request is sent again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Timer
from typing import Any

import pytest
from azure.servicebus import (
    AutoLockRenewer,
    ServiceBusClient,
    ServiceBusMessage,
    ServiceBusReceivedMessage,
    ServiceBusReceiver,
)
from azure.servicebus._pyamqp.sender import SenderLink

from tests.broker.process import BrokerProcess

pytestmark = pytest.mark.broker


_LIMIT = 90.0
"""Seconds a test may take: the thread of a pool cannot be interrupted, only left without a broker."""

_PATIENT = {"try_timeout": 20}
_IMPATIENT = {"try_timeout": 4, "retry_backoff_factor": 0.1, "retry_total": 6}
"""A lock is renewed with 10 s left: time to ask twice."""


@pytest.fixture(autouse=True)
def limit(broker: BrokerProcess) -> Iterator[None]:
    """Takes the broker away from a test that hangs: every call of the SDK then ends with an error."""
    if broker.process is None:
        broker.start()
    timer = Timer(_LIMIT, broker.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def client_of(broker: BrokerProcess, options: dict[str, Any]) -> ServiceBusClient:
    """A blocking SDK client."""
    return ServiceBusClient.from_connection_string(broker.connection_string, **options)


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[ServiceBusClient]:
    """For calls of one thread at a time."""
    with client_of(broker, _PATIENT) as client:
        yield client


@pytest.fixture
def impatient(broker: BrokerProcess) -> Iterator[ServiceBusClient]:
    """For calls from many threads that may be repeated."""
    with client_of(broker, _IMPATIENT) as client:
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
    broker: BrokerProcess, client: ServiceBusClient, impatient: ServiceBusClient
) -> None:
    queue = broker.queue("long")
    with (
        client.get_queue_sender(queue) as sender,
        impatient.get_queue_receiver(queue) as receiver,
        AutoLockRenewer() as renewer,
    ):
        sender.send_messages([ServiceBusMessage(f"{n}") for n in range(60)])
        got = receive(receiver, 60)
        for message in got:
            renewer.register(receiver, message, max_lock_renewal_duration=60)
        time.sleep(17)
        assert {repr(m.auto_renew_error) for m in got} == {"None"}  # later ones may meet the settlement
        for message in got:
            receiver.complete_message(message)
        assert receiver.peek_messages(10, sequence_number=1) == []


def test_concurrent_peeks_from_threads_are_each_answered(
    broker: BrokerProcess, client: ServiceBusClient, impatient: ServiceBusClient
) -> None:
    """Each call gets its own answer, at the latest when the SDK asks again for one that it lost.

    That the broker answers every request exactly once is tested frame by frame in test_requests.py.
    """
    queue = broker.queue()
    with client.get_queue_sender(queue) as sender, impatient.get_queue_receiver(queue) as receiver:
        sender.send_messages([ServiceBusMessage(f"{n}") for n in range(10)])
        receiver.peek_messages(1)
        with ThreadPoolExecutor(8) as pool:
            answers = list(
                pool.map(lambda n: receiver.peek_messages(1, sequence_number=n % 10 + 1), range(60))
            )
        assert [str(answer[0]) for answer in answers] == [f"{n % 10}" for n in range(60)]


def test_an_answer_read_before_the_sdk_registered_its_request_is_asked_for_again(
    broker: BrokerProcess, impatient: ServiceBusClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What happens by chance between threads, here for certain: the answer comes in before `send` returns."""
    queue = broker.queue()
    send, sent = SenderLink.send_transfer, 0

    def send_and_read_the_first_answer(link: Any, message: Any, **options: Any) -> Any:
        nonlocal sent
        session = link._session
        before = session.next_incoming_id
        delivery = send(link, message, **options)  # type: ignore[no-untyped-call]  # the SDK's own, without types
        sent += 1
        while sent == 1 and session.next_incoming_id == before:
            session._connection.listen()
        return delivery

    with impatient.get_queue_sender(queue) as sender, impatient.get_queue_receiver(queue) as receiver:
        sender.send_messages(ServiceBusMessage("x"))
        receiver.peek_messages(1)
        monkeypatch.setattr(SenderLink, "send_transfer", send_and_read_the_first_answer)
        (message,) = receiver.peek_messages(1, sequence_number=1)
    assert (str(message), sent) == ("x", 2)
