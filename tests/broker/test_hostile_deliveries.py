"""Deliveries that are no messages, or come in pieces, again or too late: each gets its own outcome."""

from __future__ import annotations

import uuid

import pytest

from devhost.amqp.message import build, split
from devhost.amqp.outcomes import Accepted, Rejected, describe_state, read_error
from devhost.amqp.performatives import RECEIVER, SENDER, Disposition, Flow, Transfer
from tests.broker.client import desk_of
from tests.broker.process import BrokerProcess
from tests.broker.raw import peer_of
from tests.broker.refusals import answer
from tests.broker.together import scenario

pytestmark = pytest.mark.broker


@scenario
async def test_what_is_no_message_is_rejected_and_the_link_goes_on(broker: BrokerProcess) -> None:
    queue = broker.queue()
    async with peer_of(broker) as peer:
        await peer.login()
        await peer.authorize(queue)
        await peer.attach(1, SENDER, queue)
        bad = [b"\x00", b"\x40", bytes.fromhex("005372a10161"), bytes.fromhex("005370c00304434371")]
        for number, payload in enumerate(bad):
            peer.send(Transfer(handle=1, delivery_id=number, delivery_tag=b"t"), payload)
            outcome = await answer(peer, number)
            assert isinstance(outcome, Rejected)
            error = read_error(outcome.error)
            assert error is not None
            assert error.condition == "amqp:decode-error"
        empty_batch = build(value="x")
        peer.send(Transfer(handle=1, delivery_id=8, message_format=0x80013700), empty_batch)
        assert isinstance(await answer(peer, 8), Rejected)
        peer.send(Transfer(handle=1, delivery_id=9), build(value="good"))
        assert await answer(peer, 9) == Accepted()
    async with desk_of(broker, queue=queue) as desk:
        assert (await desk.one()).sequence_number == 1
        await desk.assert_empty()


@scenario
async def test_repeated_delivery_ids_and_an_aborted_delivery_are_taken_as_they_come(
    broker: BrokerProcess,
) -> None:
    queue = broker.queue()
    async with peer_of(broker) as peer:
        await peer.login()
        await peer.authorize(queue)
        await peer.attach(1, SENDER, queue)
        whole = build(value="whole")
        peer.send(Transfer(handle=1, delivery_id=5, more=True), whole[:4])
        peer.send(Transfer(handle=1, delivery_id=5, aborted=True))
        for number in (7, 7, 3):
            peer.send(Transfer(handle=1, delivery_id=number, more=True), whole[:4])
            peer.send(Transfer(handle=1), whole[4:])
            assert await answer(peer, number) == Accepted()
    async with desk_of(broker, queue=queue) as desk:
        assert len(await desk.receive(3)) == 3
        await desk.assert_empty()


@scenario
async def test_a_batch_with_one_bad_message_is_rejected_whole(broker: BrokerProcess) -> None:
    queue = broker.queue()
    async with peer_of(broker) as peer:
        await peer.login()
        await peer.authorize(queue)
        await peer.attach(1, SENDER, queue)
        good = build(value="good")
        batch = b"".join(b"\x00\x53\x75\xa0" + bytes([len(part)]) + part for part in (good, b"\x01"))
        peer.send(Transfer(handle=1, delivery_id=1, message_format=0x80013700), batch)
        assert isinstance(await answer(peer, 1), Rejected)
    async with desk_of(broker, queue=queue) as desk:
        await desk.assert_empty()


@scenario
async def test_small_frames_a_closed_window_and_a_drain_are_respected(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk, peer_of(broker) as peer:
        await desk.send("x" * 2000)
        await peer.login(max_frame_size=512)
        await peer.authorize(desk.queue)
        await peer.attach(1, RECEIVER, desk.queue)
        window = Flow(next_incoming_id=1, incoming_window=2, next_outgoing_id=0, outgoing_window=9)
        peer.send(window)
        peer.flow(1, 5)
        peer.send(window)
        got = b""
        more, frames = True, 0
        while more:
            performative, payload = await peer.frame()
            if not isinstance(performative, Transfer):
                continue
            assert len(payload) < 512
            assert (performative.delivery_id is None) == (frames > 0)
            frames += 1
            got += payload
            more = performative.more
            peer.send(
                Flow(next_incoming_id=1 + frames, incoming_window=1, next_outgoing_id=0, outgoing_window=9)
            )
        assert frames > 4
        assert split(got).data() == [b"x" * 2000]
        peer.send(
            Flow(
                next_incoming_id=1 + frames,
                incoming_window=100,
                next_outgoing_id=0,
                outgoing_window=9,
                handle=1,
                delivery_count=1,
                link_credit=4,
                drain=True,
            )
        )
        drained = await peer.expect(Flow)
        while drained.delivery_count != 5:
            drained = await peer.expect(Flow)
        assert drained.link_credit == 0


@scenario
async def test_settling_what_was_settled_before_is_told_as_a_lost_lock(broker: BrokerProcess) -> None:
    async with desk_of(broker) as desk, peer_of(broker) as peer:
        await desk.send("x")
        await peer.login()
        await peer.authorize(desk.queue)
        await peer.attach(1, RECEIVER, desk.queue)
        peer.flow(1, 1)
        transfer = await peer.expect(Transfer)
        number = transfer.delivery_id
        assert number is not None
        assert transfer.delivery_tag is not None
        assert uuid.UUID(bytes_le=transfer.delivery_tag).version
        accepted = Disposition(role=RECEIVER, first=number, state=describe_state(Accepted()))
        peer.send(accepted)
        assert await answer(peer, number) == Accepted()
        peer.send(accepted)
        outcome = await answer(peer, number)
        assert isinstance(outcome, Rejected)
        error = read_error(outcome.error)
        assert error is not None
        assert error.condition == "com.microsoft:message-lock-lost"
