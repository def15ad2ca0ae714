"""A request is answered, or its connection ends; it is never performed and then not answered."""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from azure.servicebus import ServiceBusMessage
from azure.servicebus._pyamqp import link as sdk_link
from azure.servicebus.aio import ServiceBusClient

from devhost.amqp.encoder import encode
from devhost.amqp.message import Section, build, split
from devhost.amqp.outcomes import (
    read_error,
)
from devhost.amqp.performatives import (
    RECEIVER,
    SENDER,
    Close,
    Transfer,
)
from devhost.amqp.types import Array, Described, Int, Long, Symbol, Timestamp, UInt, ULong
from devhost.servicebus import replies
from devhost.servicebus.engine import Engine
from devhost.servicebus.management import Management
from devhost.servicebus.requests import OPERATIONS
from tests.broker.no_hangs.support import FAILURES, QUEUE, fail, is_told_whole
from tests.broker.raw import Peer
from tests.unit.devhost.servicebus.served import Served, served

pytestmark = pytest.mark.broker


def request(operation: str, body: object, number: int = 1) -> bytes:
    return build(
        properties=[uuid.UUID(int=number)],
        application_properties={"operation": f"com.microsoft:{operation}"},
        value=body,
    )


def bodies() -> dict[str, dict[object, object]]:
    """A body for each operation that would do for an empty queue."""
    later = Timestamp(round((datetime.now(UTC) + timedelta(hours=1)).timestamp() * 1000))
    tokens = Array(uuid.UUID, (uuid.uuid4(),))
    numbers = Array(Long, (Long(1),))
    scheduled = encode(
        Described(ULong(Section.MESSAGE_ANNOTATIONS), {Symbol("x-opt-scheduled-enqueue-time"): later})
    ) + build(value="x")
    return {
        "peek-message": {"from-sequence-number": Long(1), "message-count": Int(1)},
        "renew-lock": {"lock-tokens": tokens},
        "schedule-message": {"messages": [{"message": scheduled}]},
        "cancel-scheduled-message": {"sequence-numbers": numbers},
        "receive-by-sequence-number": {"sequence-numbers": numbers, "receiver-settle-mode": UInt(1)},
        "update-disposition": {"disposition-status": "completed", "lock-tokens": tokens},
    }


async def management(peer: Peer, credit: int = 100) -> None:
    """Handles 1 and 2: requests to the queue's management node, and its answers."""
    await peer.attach(1, SENDER, "q/$management")
    await peer.attach(2, RECEIVER, "q/$management")
    peer.flow(2, credit)


async def reply(peer: Peer) -> dict[object, object]:
    """The application-properties of the next answer, which names the request."""
    while True:
        performative, payload = await peer.frame()
        if isinstance(performative, Transfer):
            message = split(payload)
            assert message.field(Section.PROPERTIES, 5) == uuid.UUID(int=1)
            return message.map(Section.APPLICATION_PROPERTIES)


def test_there_is_a_body_for_every_operation() -> None:
    assert {f"com.microsoft:{name}" for name in bodies()} == OPERATIONS.keys()


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_request_that_fails_is_answered_with_status_and_condition(
    broker: Served, monkeypatch: pytest.MonkeyPatch, failure: type[Exception]
) -> None:
    for method in ("peek", "renew", "schedule", "cancel_scheduled", "receive_deferred", "settle"):
        fail(monkeypatch, Engine, method, failure("why"))
    async with broker.peer() as peer:
        await management(peer)
        for operation, body in bodies().items():
            peer.send(Transfer(handle=1, delivery_id=0), request(operation, body))
            told = await reply(peer)
            assert isinstance(told["statusCode"], int)
            assert told["statusCode"] >= 400
            assert isinstance(told["errorCondition"], Symbol)
            assert told["statusDescription"]


async def test_a_request_that_cannot_even_be_answered_closes_the_connection(
    broker: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with broker.peer() as peer:
        fail(monkeypatch, Management, "answer", RuntimeError())
        await management(peer)
        peer.send(Transfer(handle=1, delivery_id=0), request("peek-message", {}))
        assert is_told_whole((await peer.expect(Close)).error)


async def test_a_broker_that_stops_answers_or_closes_and_leaves_nobody_waiting(tmp_path: Path) -> None:
    async with served(tmp_path) as broker, broker.peer() as peer:
        await management(peer)
        await peer.attach(3, SENDER, "q")
        for number in range(50):
            peer.send(
                Transfer(handle=1, delivery_id=number), request("peek-message", bodies()["peek-message"])
            )
            peer.send(Transfer(handle=3, delivery_id=100 + number), build(value="x"))
        stopping = asyncio.create_task(broker.broker.stop())
        closed = await peer.expect(Close)
        assert is_told_whole(closed.error)
        peer.send(Close())
        await stopping


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "PATIENCE", 0.2)


@pytest.mark.usefixtures("impatient")
async def test_a_request_whose_answer_gets_no_credit_is_not_performed_and_closes_the_connection(
    broker: Served,
) -> None:
    async with broker.peer() as peer:
        await management(peer, credit=0)
        peer.send(
            Transfer(handle=1, delivery_id=0), request("schedule-message", bodies()["schedule-message"])
        )
        error = read_error((await peer.expect(Close)).error)
        assert error is not None
        assert error.condition == "amqp:connection:forced"
    assert await broker.engine.peek(QUEUE, 1, 10) == []


@pytest.mark.usefixtures("impatient")
async def test_the_sdk_s_requests_go_on_when_its_credit_for_answers_is_used_up(
    sdk: ServiceBusClient, broker: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gives 10,000 once, here a few, and never more; each message is scheduled once all the same."""
    monkeypatch.setattr(sdk_link, "DEFAULT_LINK_CREDIT", 5)
    later = datetime.now(UTC) + timedelta(hours=1)
    async with sdk.get_queue_sender("q") as sender:
        for number in range(12):
            await asyncio.wait_for(sender.schedule_messages(ServiceBusMessage(f"{number}"), later), 30)
    assert [message.sequence_number for message in await broker.engine.peek(QUEUE, 1, 50)] == [*range(1, 13)]
