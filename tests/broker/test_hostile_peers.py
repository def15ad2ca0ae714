"""Peers that break the rules of a connection: each gets a clear answer, and nobody else notices."""

from __future__ import annotations

import asyncio
import random

import pytest

from devhost.amqp.framing import AMQP_HEADER, SASL_FRAME, SASL_HEADER, Frame, Header, encode_frame
from devhost.amqp.performatives import Close, Detach, End, Open, encode_performative
from devhost.amqp.sasl import Init, Outcome, decode_sasl, encode_sasl
from tests.broker.client import desk_of
from tests.broker.process import BrokerProcess
from tests.broker.raw import peer_of
from tests.broker.refusals import BEGIN, told
from tests.broker.together import scenario

pytestmark = pytest.mark.broker


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
async def test_frames_after_the_end_of_their_session_are_passed_over(broker: BrokerProcess) -> None:
    async with peer_of(broker) as peer:
        await peer.login()
        peer.send(End())
        peer.send(Detach(handle=3, closed=True))
        peer.send(Close())
        assert (await peer.expect(Close)).error is None


@scenario
async def test_heartbeats_come_as_often_as_the_peer_asks(broker: BrokerProcess) -> None:
    async with peer_of(broker) as peer:
        await peer.login(idle_time_out=400)
        for _ in range(3):
            item = await peer.item()
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
