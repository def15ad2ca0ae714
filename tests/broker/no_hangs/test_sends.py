"""Whatever is sent is answered once, settled: accepted, or rejected with a whole error."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from devhost.amqp.message import build
from devhost.amqp.outcomes import (
    Rejected,
)
from devhost.amqp.performatives import (
    RECEIVER,
    SENDER,
    Transfer,
)
from devhost.servicebus.engine import Engine
from devhost.servicebus.envelope import BATCH_FORMAT, MAX_MESSAGE_SIZE
from tests.broker.no_hangs.support import FAILURES, fail, is_final, outcomes
from tests.unit.devhost.servicebus.served import Served

pytestmark = pytest.mark.broker


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_send_is_answered_whatever_goes_wrong_in_storing_it(
    broker: Served, monkeypatch: pytest.MonkeyPatch, failure: type[Exception]
) -> None:
    fail(monkeypatch, Engine, "enqueue", failure("why"))
    async with broker.peer() as peer:
        await peer.attach(1, SENDER, "q")
        peer.send(Transfer(handle=1, delivery_id=5, delivery_tag=b"t"), build(value="x"))
        state = (await outcomes(peer, 1, role=RECEIVER))[5]
        assert isinstance(state, Rejected)
        assert is_final(state)


@pytest.mark.parametrize("seed", range(4))
async def test_every_delivery_is_answered_once_whatever_it_holds(broker: Served, seed: int) -> None:
    """Good ones, broken ones, batches of both, too large ones, cut into frames at random."""
    dice = random.Random(seed)
    good = build(value="x")
    kinds: list[Callable[[], tuple[bytes, int]]] = [
        lambda: (good, 0),
        lambda: (dice.randbytes(dice.randrange(60)), dice.choice((0, BATCH_FORMAT, 7))),
        lambda: (good[: dice.randrange(len(good))], 0),
        lambda: (b"\x00\x53\x75\xa0" + bytes([len(good)]) + good, BATCH_FORMAT),
        lambda: (b"\x00\x53\x75\xa0\x03abc", BATCH_FORMAT),
        lambda: (bytes(MAX_MESSAGE_SIZE + 1), 0),
    ]
    async with broker.peer() as peer:
        await peer.attach(1, SENDER, "q")
        for number in range(60):
            payload, form = dice.choices(kinds, (5, 5, 5, 5, 5, 1))[0]()
            parts = [payload[at : at + 200_000] for at in range(0, len(payload), 200_000)] or [b""]
            for part in parts[:-1]:
                peer.send(Transfer(handle=1, delivery_id=number, message_format=form, more=True), part)
            peer.send(Transfer(handle=1, delivery_id=number, message_format=form), parts[-1])
        found = await outcomes(peer, 60, role=RECEIVER)
    assert found.keys() == set(range(60))
    assert all(is_final(state) for state in found.values())
