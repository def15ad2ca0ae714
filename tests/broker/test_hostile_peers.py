"""Peers that break the rules: each gets a clear answer, and nobody else notices."""

from __future__ import annotations

import asyncio
import random
import uuid

import pytest

from devhost.amqp.framing import AMQP_HEADER, SASL_FRAME, SASL_HEADER, Frame, Header, encode_frame
from devhost.amqp.message import Section, build, split
from devhost.amqp.outcomes import Accepted, Error, Rejected, describe_state, read_error, read_state
from devhost.amqp.performatives import (
    RECEIVER,
    SENDER,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Flow,
    Open,
    Transfer,
    encode_performative,
)
from devhost.amqp.sasl import Init, Outcome, decode_sasl, encode_sasl
from tests.broker.client import desk_of
from tests.broker.process import BrokerProcess
from tests.broker.raw import Peer, peer_of
from tests.broker.together import scenario

pytestmark = pytest.mark.broker
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


@scenario
async def test_a_peer_without_sasl_is_told_what_is_spoken_here(broker: BrokerProcess) -> None:
    for hello in (AMQP_HEADER, b"AMQP\x02\x01\x00\x00", b"AMQP\x00\x00\x09\x01"):
        async with peer_of(broker) as peer:
            peer.write(hello)
            assert await peer.item() == Header(SASL_HEADER)
            await peer.closed()


@scenario
async def test_an_unknown_sasl_mechanism_is_refused(broker: BrokerProcess) -> None:
    async with peer_of(broker) as peer:
        peer.write(SASL_HEADER + encode_frame(encode_sasl(Init("PLAIN", b"\0u\0p")), kind=SASL_FRAME))
        items = [await peer.item() for _ in range(3)]
        assert isinstance(items[2], Frame)
        assert decode_sasl(items[2].body) == Outcome(1)
        await peer.closed()


@scenario
async def test_anything_before_the_open_hangs_up(broker: BrokerProcess) -> None:
    begin = encode_frame(encode_performative(BEGIN))
    for octets in (b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 64, b"\xff" * 64, begin):
        async with peer_of(broker) as peer:
            peer.write(octets)
            await peer.closed()


@pytest.mark.parametrize(
    ("frame", "condition"),
    [
        (b"\x7f\xff\xff\xff\x02\x00\x00\x00", "amqp:connection:framing-error"),
        (b"\x00\x00\x00\x04\x02\x00\x00\x00", "amqp:connection:framing-error"),
        (encode_frame(b"\x40"), "amqp:decode-error"),
        (encode_frame(b"\x00\x53\x12\xd0\x00\x00"), "amqp:decode-error"),
        (encode_frame(b"\x00\x53\x12\x45"), "amqp:invalid-field"),
        (encode_frame(b"\x00\x53\x63\x45"), "amqp:invalid-field"),
        (encode_frame(b"\x00" * 100), "amqp:decode-error"),
        (encode_frame(encode_performative(BEGIN), channel=999), "amqp:not-allowed"),
    ],
)
async def test_a_broken_frame_closes_its_connection_saying_why(
    broker: BrokerProcess, frame: bytes, condition: str
) -> None:
    async with peer_of(broker) as peer:
        await peer.login()
        peer.write(frame)
        assert (await told(peer, Close)).condition == condition
        peer.send(Close())
        await peer.closed()


@scenario
async def test_a_frame_size_below_the_least_is_refused(broker: BrokerProcess) -> None:
    async with peer_of(broker) as peer:
        with pytest.raises(EOFError):
            await peer.login(max_frame_size=100)


@scenario
async def test_a_transfer_on_an_unknown_handle_closes_the_connection(broker: BrokerProcess) -> None:
    """The session alone would be enough, but the SDK waits for ever on one that the broker ended."""
    async with peer_of(broker) as peer:
        await peer.login()
        peer.send(Transfer(handle=9, delivery_id=0))
        assert (await told(peer, Close)).condition == "amqp:session:unattached-handle"
        peer.send(Close())
        await peer.closed()


@scenario
async def test_frames_after_the_end_of_their_session_are_passed_over(broker: BrokerProcess) -> None:
    async with peer_of(broker) as peer:
        await peer.login()
        peer.send(End())
        peer.send(Detach(handle=3, closed=True))
        peer.send(Close())
        assert (await peer.expect(Close)).error is None


@scenario
async def test_a_handle_is_attached_once(broker: BrokerProcess) -> None:
    async with peer_of(broker) as peer:
        await peer.login()
        await peer.attach(1, SENDER, "$cbs")
        with pytest.raises(EOFError):
            await asyncio.gather(peer.attach(1, SENDER, "$cbs"), hang_up_after_close(peer))


async def hang_up_after_close(peer: Peer) -> None:
    await asyncio.sleep(0.5)
    peer.send(Close())


@scenario
async def test_without_a_token_no_queue_opens(broker: BrokerProcess) -> None:
    async with peer_of(broker) as peer:
        await peer.login()
        for handle, address in enumerate(("plain-0", "plain-0/$management")):
            attached = await peer.attach(handle, RECEIVER, address)
            assert (attached.source, attached.target) == (None, None)
            assert (await told(peer, Detach)).condition == "amqp:unauthorized-access"


@scenario
async def test_a_token_opens_only_its_own_queue(broker: BrokerProcess) -> None:
    async with peer_of(broker) as peer:
        await peer.login()
        await peer.authorize("plain-1")
        await peer.attach(1, RECEIVER, "PLAIN-1/$DeadLetterQueue")
        await peer.attach(2, RECEIVER, "plain-10")
        assert (await told(peer, Detach)).condition == "amqp:unauthorized-access"


@scenario
async def test_a_link_without_an_address_is_refused(broker: BrokerProcess) -> None:
    async with peer_of(broker) as peer:
        await peer.login()
        await peer.attach(1, RECEIVER, "")
        assert (await told(peer, Detach)).condition == "amqp:invalid-field"


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


@scenario
async def test_an_unknown_management_operation_is_answered_as_not_implemented(broker: BrokerProcess) -> None:
    queue = broker.queue()
    async with peer_of(broker) as peer:
        await peer.login()
        await peer.authorize(queue)
        node = f"{queue}/$management"
        await peer.attach(1, SENDER, node)
        await peer.attach(2, RECEIVER, node)
        peer.flow(2, 10)
        for number, operation in enumerate(("com.microsoft:get-session-state", "nonsense")):
            request = build(
                properties=[uuid.UUID(int=number)], application_properties={"operation": operation}, value={}
            )
            peer.send(Transfer(handle=1, delivery_id=number, settled=True), request)
            performative, payload = await peer.frame()
            while not isinstance(performative, Transfer):
                performative, payload = await peer.frame()
            reply = split(payload)
            properties = reply.map(Section.APPLICATION_PROPERTIES)
            assert (properties["statusCode"], properties["errorCondition"]) == (501, "amqp:not-implemented")
            assert reply.field(Section.PROPERTIES, 5) == uuid.UUID(int=number)


@scenario
async def test_heartbeats_come_as_often_as_the_peer_asks(broker: BrokerProcess) -> None:
    async with peer_of(broker) as peer:
        await peer.login(idle_time_out=400)
        for _ in range(3):
            item = await asyncio.wait_for(peer.item(), 2)
            assert item == Frame(0, 0, b"")


@scenario
async def test_random_frames_harm_nobody_else(broker: BrokerProcess) -> None:
    dice = random.Random(20)
    async with desk_of(broker) as desk:
        for _ in range(150):
            async with peer_of(broker) as peer:
                if dice.random() < 0.7:
                    await peer.login()
                body = bytes([0, 0x53, dice.randrange(0x10, 0x19)]) + dice.randbytes(dice.randrange(40))
                peer.write(encode_frame(body, dice.randrange(2), dice.choice([0, 0, 0, 1])))
                peer.write(dice.randbytes(dice.randrange(60)))
        await desk.send("still here")
        assert str(await desk.one()) == "still here"


@scenario
async def test_hundreds_of_connections_at_once_are_all_served(broker: BrokerProcess) -> None:
    async def greet() -> None:
        async with peer_of(broker) as peer:
            await peer.login()
            arrived.append(1)
            if len(arrived) == wanted:
                everybody.set()
            await everybody.wait()

    wanted = 400
    arrived: list[int] = []
    everybody = asyncio.Event()
    await asyncio.gather(*(greet() for _ in range(wanted)))


@scenario
async def test_an_open_is_answered_with_the_broker_s_limits(broker: BrokerProcess) -> None:
    async with peer_of(broker) as peer:
        init = encode_frame(encode_sasl(Init("ANONYMOUS")), kind=SASL_FRAME)
        peer.write(SASL_HEADER + init + AMQP_HEADER)
        peer.send(Open(container_id="raw"))
        for _ in range(4):
            await peer.item()
        opened = await peer.expect(Open)
        assert (opened.max_frame_size, opened.idle_time_out) == (262_144, 240_000)
