"""Links of kinds that the broker does not have, which this SDK never asks for."""

from __future__ import annotations

import pytest

from devhost.amqp.outcomes import Error, read_error
from devhost.amqp.performatives import RECEIVER, SENDER, Attach, Detach
from devhost.amqp.types import Described, Symbol, ULong
from tests.broker.process import BrokerProcess
from tests.broker.raw import Peer, peer_of
from tests.broker.together import scenario

pytestmark = pytest.mark.broker
COORDINATOR = 0x30
SOURCE, TARGET = 0x28, 0x29


async def refused(peer: Peer, attach: Attach) -> Error:
    """Why the link is refused: it is answered without source and target, and closed."""
    peer.send(attach)
    answer = await peer.expect(Attach)
    assert (answer.source, answer.target) == (None, None)
    detach = await peer.expect(Detach)
    error = read_error(detach.error)
    assert detach.closed
    assert error is not None
    assert error.info
    return error


@scenario
async def test_transactions_are_refused_and_the_refusal_says_what_to_do(broker: BrokerProcess) -> None:
    async with peer_of(broker) as peer:
        await peer.login()
        for handle, descriptor in enumerate((ULong(COORDINATOR), Symbol("amqp:coordinator:list"))):
            target = Described(descriptor, [[Symbol("amqp:local-transactions")]])
            source = Described(ULong(SOURCE), ["here"])
            error = await refused(
                peer,
                Attach(
                    name=f"transactions-{handle}",
                    handle=handle,
                    role=SENDER,
                    source=source,
                    target=target,
                    initial_delivery_count=0,
                ),
            )
            assert error.condition == "amqp:not-implemented"
            assert "each message by itself" in (error.description or "")


@scenario
async def test_a_receiver_of_a_session_is_refused_and_the_refusal_says_what_to_do(
    broker: BrokerProcess,
) -> None:
    queue = broker.queue()
    async with peer_of(broker) as peer:
        await peer.login()
        await peer.authorize(queue)
        for handle, wanted in enumerate(("a session", None)):
            name = Symbol("com.microsoft:session-filter")
            source = Described(ULong(SOURCE), [queue, *[None] * 6, {name: Described(name, wanted)}])
            target = Described(ULong(TARGET), ["here"])
            error = await refused(
                peer,
                Attach(name=f"session-{handle}", handle=handle, role=RECEIVER, source=source, target=target),
            )
            assert error.condition == "amqp:not-allowed"
            assert "without session_id" in (error.description or "")
