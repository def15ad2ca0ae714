"""Parts of the broker that fail on demand, and what its answers must be like."""

from __future__ import annotations

from typing import Any

import pytest

from devhost.amqp.outcomes import (
    Accepted,
    DeliveryState,
    Rejected,
    read_error,
    read_state,
)
from devhost.amqp.performatives import (
    Disposition,
)
from devhost.amqp.types import Described
from devhost.servicebus import model
from devhost.servicebus.model import BrokerError, QueueRef
from tests.broker.raw import Peer

FAILURES: list[type[Exception]] = [
    *(error for error in vars(model).values() if isinstance(error, type) and issubclass(error, BrokerError)),
    RuntimeError,
    MemoryError,
    StopAsyncIteration,
]
QUEUE = QueueRef("q")


def fail(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, error: Exception) -> None:
    async def failing(*_args: Any, **_named: Any) -> Any:
        raise error

    monkeypatch.setattr(owner, name, failing)


def is_told_whole(error: Described | None) -> bool:
    read = read_error(error)
    return read is not None and bool(read.condition and read.description and read.info)


async def outcomes(peer: Peer, count: int, *, role: bool) -> dict[int, DeliveryState]:
    """The broker's next dispositions, by delivery: settled each, and one each."""
    found: dict[int, DeliveryState] = {}
    while len(found) < count:
        said = await peer.expect(Disposition)
        state = read_state(said.state)
        assert said.role is role
        assert said.settled
        assert state is not None
        assert said.first not in found
        assert said.last in (None, said.first)
        found[said.first] = state
    return found


def is_final(state: DeliveryState) -> bool:
    """What a sender may be told: anything else leaves the SDK waiting."""
    return state == Accepted() or (isinstance(state, Rejected) and is_told_whole(state.error))
