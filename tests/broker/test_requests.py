"""Many requests at once on one connection, frame by frame: each is answered once."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from pathlib import Path

import pytest

from devhost.amqp.encoder import encode
from devhost.amqp.message import Section, build, split
from devhost.amqp.performatives import RECEIVER, SENDER, Flow, Transfer
from devhost.amqp.types import Described, Int, Long, ULong
from devhost.servicebus import replies
from devhost.servicebus.model import Incoming, QueueRef
from tests.broker.client import desk_of
from tests.broker.process import BrokerProcess
from tests.broker.raw import Peer, peer_at, peer_of
from tests.broker.together import scenario
from tests.unit.devhost.servicebus.served import served

pytestmark = pytest.mark.broker
REQUESTS = 200
MESSAGES = 10
QUEUE, REQUEST, REPLY = 1, 2, 3


def peek(number: int) -> bytes:
    """A request to peek one message, which says whose answer is whose."""
    return build(
        properties=[uuid.UUID(int=number)],
        application_properties={"operation": "com.microsoft:peek-message"},
        value={"from-sequence-number": Long(number % MESSAGES + 1), "message-count": Int(1)},
    )


async def open_links(peer: Peer, queue: str) -> None:
    """A link to the queue, and the pair of its management node."""
    await peer.login()
    await peer.authorize(queue)
    await peer.attach(QUEUE, SENDER, queue)
    await peer.attach(REQUEST, SENDER, f"{queue}/$management")
    await peer.attach(REPLY, RECEIVER, f"{queue}/$management")


async def answers(peer: Peer, count: int) -> list[tuple[int, int, str]]:
    """Delivery-id, request and peeked body of each of the next answers."""
    found: list[tuple[int, int, str]] = []
    while len(found) < count:
        performative, payload = await peer.frame()
        if isinstance(performative, Transfer):
            assert performative.handle == REPLY
            assert performative.delivery_id is not None
            assert not performative.more
            found.append((performative.delivery_id, *read(payload)))
    return found


async def assert_nothing_more(peer: Peer, credit: int) -> None:
    """An echo of the link's state comes before any other answer."""
    peer.flow(REPLY, credit, echo=True)
    while True:
        performative, _ = await peer.frame()
        assert not isinstance(performative, Transfer)
        if isinstance(performative, Flow) and performative.handle == REPLY:
            return


def read(payload: bytes) -> tuple[int, str]:
    """The number of the request that is answered, and the body of the message in the answer."""
    reply = split(payload)
    correlation, body = reply.field(Section.PROPERTIES, 5), reply.value()
    assert isinstance(correlation, uuid.UUID)
    assert isinstance(body, dict)
    (entry,) = body["messages"]
    return correlation.int, split(entry["message"]).data()[0].decode()


def expected(numbers: Iterable[int]) -> list[tuple[int, str]]:
    """Every request once, with its own message."""
    return [(number, f"{number % MESSAGES}") for number in numbers]


@scenario
async def test_each_request_is_answered_once_whatever_its_delivery_id_and_however_it_is_cut(
    broker: BrokerProcess,
) -> None:
    """Delivery-ids repeat and go backwards, and frames of two links interleave: so do the SDK's threads."""
    async with desk_of(broker) as desk, peer_of(broker) as peer:
        await desk.send(*(f"{n}" for n in range(MESSAGES)))
        await open_links(peer, desk.queue)
        peer.flow(REPLY, 10_000)
        whole = build(value="another")
        for number in range(REQUESTS):
            request, delivery_id = peek(number), number // 4 + 2 * (number % 3)
            peer.send(Transfer(handle=REQUEST, delivery_id=delivery_id, more=True), request[:20])
            peer.send(Transfer(handle=QUEUE, delivery_id=delivery_id, more=True), whole[:3])
            peer.send(Transfer(handle=REQUEST), request[20:])
            peer.send(Transfer(handle=QUEUE, settled=True), whole[3:])
        found = await answers(peer, REQUESTS)
        assert sorted(answer[1:] for answer in found) == expected(range(REQUESTS))
        assert len({delivery_id for delivery_id, _, _ in found}) == REQUESTS
        peer.send(Transfer(handle=REQUEST, delivery_id=0), peek(REQUESTS))
        assert [answer[1:] for answer in await answers(peer, 1)] == expected([REQUESTS])


async def test_answers_wait_for_credit_and_none_is_lost_or_sent_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replies, "PATIENCE", 300)  # how slow this machine is must not matter
    async with served(tmp_path) as broker, peer_at(broker.port) as peer:
        bodies = [encode(Described(ULong(Section.DATA), f"{n}".encode())) for n in range(MESSAGES)]
        await broker.engine.enqueue(QueueRef("q"), [Incoming(body) for body in bodies])
        await open_links(peer, "q")
        for number in range(REQUESTS):
            peer.send(Transfer(handle=REQUEST, delivery_id=number), peek(number))
        found: list[tuple[int, int, str]] = []
        for credit in (0, 1, 2, 50, REQUESTS):
            peer.flow(REPLY, credit)
            found += await answers(peer, credit - len(found))
            await assert_nothing_more(peer, credit)
        assert sorted(answer[1:] for answer in found) == expected(range(REQUESTS))
