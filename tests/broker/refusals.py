"""What the broker says to a bare peer that breaks the rules."""

from __future__ import annotations

from devhost.amqp.outcomes import Error, read_error, read_state
from devhost.amqp.performatives import Begin, Close, Detach, Disposition
from tests.broker.raw import Peer

BEGIN = Begin(next_outgoing_id=0, incoming_window=10, outgoing_window=10)


async def told(peer: Peer, kind: type[Close | Detach]) -> Error:
    """The error with which the broker ends something: all three parts are there."""
    error = read_error((await peer.expect(kind)).error)
    assert error is not None
    assert error.description
    assert error.info
    return error


async def answer(peer: Peer, delivery_id: int) -> object:
    """The settled outcome of a delivery."""
    while True:
        disposition = await peer.expect(Disposition)
        if disposition.first == delivery_id:
            assert disposition.settled
            return read_state(disposition.state)
