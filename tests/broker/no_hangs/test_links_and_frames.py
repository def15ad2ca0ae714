"""A refused link is no link, and what goes wrong with a frame ends one connection, with a whole error."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import ServiceBusClient

from devhost.amqp.message import build
from devhost.amqp.outcomes import (
    Accepted,
)
from devhost.amqp.performatives import (
    RECEIVER,
    SENDER,
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Flow,
    Transfer,
)
from devhost.servicebus.session import Session
from tests.broker.no_hangs.support import QUEUE, is_told_whole, outcomes
from tests.unit.devhost.servicebus.served import Served

pytestmark = pytest.mark.broker


@pytest.mark.parametrize(
    ("role", "address"),
    [
        (SENDER, "nothing-here"),
        (RECEIVER, "nothing-here"),
        (SENDER, "nothing-here/$management"),
        (SENDER, "q/$DeadLetterQueue"),
        (RECEIVER, "q/$Transfer/$DeadLetterQueue"),
        (RECEIVER, ""),
    ],
)
async def test_a_refused_link_is_answered_with_no_termini_and_then_detached(
    broker: Served, role: bool, address: str
) -> None:
    """With termini the SDK takes the link for open, and waits on it."""
    async with broker.peer() as peer:
        attached = await peer.attach(1, role, address)
        assert (attached.source, attached.target) == (None, None)
        detached = await peer.expect(Detach)
        assert detached.closed
        assert is_told_whole(detached.error)


@pytest.mark.parametrize(
    ("name", "frame"),
    [
        ("_on_transfer", Transfer(handle=1, delivery_id=0)),
        ("_on_disposition", Disposition(role=RECEIVER, first=0)),
        ("_on_flow", Flow(incoming_window=1, next_outgoing_id=0, outgoing_window=1)),
        ("_on_attach", Attach(name="n", handle=3, role=SENDER)),
        ("_on_detach", Detach(handle=1)),
        ("end", End()),
    ],
)
async def test_an_exception_in_handling_a_frame_ends_its_connection_alone(
    broker: Served, monkeypatch: pytest.MonkeyPatch, name: str, frame: Any
) -> None:
    async with broker.peer() as other:
        async with broker.peer() as peer:
            await peer.attach(1, SENDER, "q")

            def failing(*_: Any, **__: Any) -> None:
                raise RuntimeError

            with monkeypatch.context() as patch:
                patch.setattr(Session, name, failing)
                peer.send(frame)
                assert is_told_whole((await peer.expect(Close)).error)
        await other.attach(1, SENDER, "q")
        other.send(Transfer(handle=1, delivery_id=0), build(value="x"))
        assert await outcomes(other, 1, role=RECEIVER) == {0: Accepted()}


@pytest.mark.parametrize(
    "frame",
    [
        Transfer(handle=77, delivery_id=0),
        Transfer(handle=2, delivery_id=0),
        Attach(name="n", handle=100, role=SENDER),
        Attach(name="n", handle=9999, role=SENDER),
        Begin(next_outgoing_id=0, incoming_window=1, outgoing_window=1),
        Flow(incoming_window=1, next_outgoing_id=0, outgoing_window=1, handle=77),
    ],
)
async def test_no_session_is_ended_by_the_broker_its_connection_is_closed(broker: Served, frame: Any) -> None:
    async with broker.peer() as peer:
        await peer.attach(2, RECEIVER, "q")
        peer.send(frame)
        while not isinstance(said := (await peer.frame())[0], Close):
            assert not isinstance(said, End)
        assert is_told_whole(said.error)


async def test_the_sdk_sends_again_after_a_fault_of_the_session(
    broker: Served, sdk: ServiceBusClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle, faults = Session._on_transfer, [RuntimeError()]

    def sometimes(session: Session, transfer: Transfer, payload: bytes) -> None:
        if b"fragile" in payload and faults:
            raise faults.pop()
        handle(session, transfer, payload)

    monkeypatch.setattr(Session, "_on_transfer", sometimes)
    async with sdk.get_queue_sender("q") as sender:
        await asyncio.wait_for(sender.send_messages(ServiceBusMessage("fragile")), 30)
    assert len(await broker.engine.peek(QUEUE, 1, 10)) == 1
    assert faults == []
