"""A settlement is answered with the outcome it asked for, or with why it failed."""

from __future__ import annotations

import pytest

from devhost.amqp.message import build
from devhost.amqp.outcomes import (
    Accepted,
    DeliveryState,
    Error,
    Modified,
    Rejected,
    describe_error,
    describe_state,
)
from devhost.amqp.performatives import (
    RECEIVER,
    SENDER,
    Disposition,
    Transfer,
)
from devhost.servicebus.engine import Engine
from devhost.servicebus.model import Incoming
from tests.broker.no_hangs.support import FAILURES, QUEUE, fail, is_final, outcomes
from tests.broker.raw import Peer
from tests.unit.devhost.servicebus.served import Served

pytestmark = pytest.mark.broker
ABANDON = Modified(delivery_failed=True)
DEFER = Modified(delivery_failed=True, undeliverable_here=True)
DEAD_LETTER = Rejected(describe_error(Error("com.microsoft:dead-letter", "d", {"DeadLetterReason": "r"})))


async def received(peer: Peer, broker: Served) -> int:
    """The delivery-id of a message, just received."""
    await broker.engine.enqueue(QUEUE, [Incoming(build(value="x"))])
    await peer.attach(1, RECEIVER, "q")
    peer.flow(1, 1)
    number = (await peer.expect(Transfer)).delivery_id
    assert number is not None
    return number


@pytest.mark.parametrize("asked", [Accepted(), ABANDON, DEFER, DEAD_LETTER])
async def test_a_settlement_is_answered_with_the_outcome_it_asked_for(
    broker: Served, asked: DeliveryState
) -> None:
    async with broker.peer() as peer:
        number = await received(peer, broker)
        peer.send(Disposition(role=RECEIVER, first=number, state=describe_state(asked)))
        told = (await outcomes(peer, 1, role=SENDER))[number]
    assert type(told) is type(asked)
    assert not isinstance(told, Rejected) or told.error is None


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_settlement_that_fails_is_answered_with_why(
    broker: Served, monkeypatch: pytest.MonkeyPatch, failure: type[Exception]
) -> None:
    async with broker.peer() as peer:
        number = await received(peer, broker)
        fail(monkeypatch, Engine, "settle", failure("why"))
        peer.send(Disposition(role=RECEIVER, first=number, state=describe_state(Accepted())))
        told = (await outcomes(peer, 1, role=SENDER))[number]
    assert isinstance(told, Rejected)
    assert is_final(told)
