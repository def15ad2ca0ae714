"""A silent peer is found out and told; one that gives signs of life is kept."""

from __future__ import annotations

import asyncio

import pytest

from devhost.amqp.message import build
from devhost.amqp.outcomes import (
    Accepted,
    read_error,
)
from devhost.amqp.performatives import (
    RECEIVER,
    SENDER,
    Close,
    Transfer,
)
from devhost.servicebus import connection
from tests.broker.no_hangs.support import outcomes
from tests.unit.devhost.servicebus.served import Served

pytestmark = pytest.mark.broker


async def test_a_silent_peer_is_told_and_cut_off(broker: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "IDLE_SECONDS", 0.2)
    async with broker.peer() as peer:
        error = read_error((await asyncio.wait_for(peer.expect(Close), 60)).error)
        assert error is not None
        assert error.condition == "amqp:connection:forced"
        assert "heard" in (error.description or "")


async def test_an_empty_frame_now_and_then_keeps_a_connection(
    broker: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "IDLE_SECONDS", 3)
    async with broker.peer() as peer:
        for _ in range(8):
            await asyncio.sleep(0.5)
            peer.write(b"\x00\x00\x00\x08\x02\x00\x00\x00")
        await peer.attach(1, SENDER, "q")
        peer.send(Transfer(handle=1, delivery_id=0), build(value="x"))
        assert await outcomes(peer, 1, role=RECEIVER) == {0: Accepted()}
