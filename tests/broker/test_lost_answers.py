"""Answers that the blocking SDK loses between its threads.

This limit is the SDK's own (azure-servicebus 7.15.0, `ManagementLink.execute_operation`): it writes a
request and registers it only then, so another thread that reads the answer in between drops it, and the
call waits for ever. Nothing on the wire tells a broker that this happened. The SDK's remedy is
`try_timeout`: it bounds every attempt, and the request is sent again.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import Timer
from typing import Any

import pytest
from azure.servicebus import (
    ServiceBusClient,
    ServiceBusMessage,
)
from azure.servicebus._pyamqp.sender import SenderLink

from tests.broker.process import BrokerProcess

pytestmark = pytest.mark.broker


_LIMIT = 90.0
"""Seconds a test may take: the thread of a pool cannot be interrupted, only left without a broker."""

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
def impatient(broker: BrokerProcess) -> Iterator[ServiceBusClient]:
    """For calls from many threads that may be repeated."""
    with client_of(broker, _IMPATIENT) as client:
        yield client


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
