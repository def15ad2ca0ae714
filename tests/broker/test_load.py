"""Many messages through one broker: its memory stays flat, its rates are told, its order is kept."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.servicebus import ServiceBusMessage

from devhost.amqp.message import split
from devhost.amqp.outcomes import Accepted, describe_state
from devhost.amqp.performatives import RECEIVER, Disposition, Flow, Transfer
from tests.broker.client import client_of
from tests.broker.process import BrokerProcess, running_broker
from tests.broker.raw import Peer, peer_of

pytestmark = [pytest.mark.broker, pytest.mark.timeout(900)]
MESSAGES = 100_000
BATCH = 500
BODY = "x" * 200
CREDIT = 500
ROOM_MIB = 48
"""SQLite's cache (16 MiB), a commit's messages, and what the allocator keeps."""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path) as broker:
        yield broker


def resident_mib(broker: BrokerProcess) -> float:
    assert broker.process is not None
    status = Path(f"/proc/{broker.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


async def send_batches(broker: BrokerProcess, queue: str, first: int, last: int) -> None:
    """With the SDK, in batches, numbered."""
    async with client_of(broker) as client, client.get_queue_sender(queue) as sender:
        for start in range(first, last, BATCH):
            await sender.send_messages(
                [ServiceBusMessage(f"{n} {BODY}") for n in range(start, start + BATCH)]
            )


async def take(peer: Peer, queue: str, count: int) -> list[int]:
    """Receive and complete; the numbers, in the order in which they came."""
    await peer.attach(1, RECEIVER, queue)
    numbers: list[int] = []
    completed = 0
    while completed < count:
        if len(numbers) - completed == 0 or len(numbers) % (CREDIT // 2) == 0:
            grant(peer, len(numbers))
        performative, payload = await peer.frame()
        match performative:
            case Transfer(delivery_id=int(delivery_id)):
                numbers.append(int(split(payload).data()[0].split()[0]))
                accepted = describe_state(Accepted())
                peer.send(Disposition(role=RECEIVER, first=delivery_id, state=accepted))
            case Disposition():
                completed += 1
            case _:
                pass
    return numbers


def grant(peer: Peer, received: int) -> None:
    peer.send(
        Flow(
            next_incoming_id=received + 1,
            incoming_window=100_000,
            next_outgoing_id=0,
            outgoing_window=100_000,
            handle=1,
            delivery_count=received,
            link_credit=CREDIT,
        )
    )


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="reads a process's memory as Linux tells it"
)
async def test_a_hundred_thousand_messages_pass_over_the_wire_with_flat_memory(broker: BrokerProcess) -> None:
    queue, tenth = broker.queue(), MESSAGES // 10
    sizes, rates = [], []
    for number in range(10):
        started = time.perf_counter()
        await send_batches(broker, queue, number * tenth, (number + 1) * tenth)
        sent = time.perf_counter()
        async with peer_of(broker) as peer:
            await peer.login()
            await peer.authorize(queue)
            numbers = await take(peer, queue, tenth)
        rates.append((round(tenth / (sent - started)), round(tenth / (time.perf_counter() - sent))))
        sizes.append(resident_mib(broker))
        assert numbers == [*range(number * tenth, (number + 1) * tenth)]
    print(f"MiB: {sizes}; sent and taken a second: {rates}")
    assert sizes[9] - sizes[0] < ROOM_MIB
    assert sizes[9] - sizes[4] < ROOM_MIB / 2


def processor_seconds(broker: BrokerProcess) -> float:
    assert broker.process is not None
    fields = Path(f"/proc/{broker.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads processor time as Linux tells it")
async def test_a_backlog_of_a_hundred_thousand_takes_the_broker_under_a_millisecond_each(
    broker: BrokerProcess,
) -> None:
    """So it takes 1,000 a second in batches; its processor time counts, however busy the machine is."""
    queue = broker.queue()
    started, before = time.perf_counter(), processor_seconds(broker)
    await send_batches(broker, queue, 0, MESSAGES)
    took, worked = time.perf_counter() - started, processor_seconds(broker) - before
    print(f"{MESSAGES / took:.0f} messages a second with the SDK, {MESSAGES / worked:.0f} of broker time")
    assert MESSAGES / worked > 1000
    assert resident_mib(broker) < 40 + ROOM_MIB


async def test_one_receiver_gets_each_sender_s_messages_in_their_order(broker: BrokerProcess) -> None:
    """With senders at once, singly and in batches: numbers grow within each sender's own."""
    queue, each = broker.queue(), 200

    async def send(sender_number: int) -> None:
        async with client_of(broker) as client, client.get_queue_sender(queue) as sender:
            numbers = range(sender_number * each, (sender_number + 1) * each)
            for start in range(0, each, 10):
                some = [ServiceBusMessage(f"{n}") for n in numbers[start : start + 10]]
                if sender_number % 2:
                    await sender.send_messages(some)
                else:
                    for message in some:
                        await sender.send_messages(message)

    async with peer_of(broker) as peer:
        await peer.login()
        await peer.authorize(queue)
        sending = asyncio.gather(*(send(number) for number in range(4)))
        numbers = await asyncio.wait_for(take(peer, queue, 4 * each), 120)
        await sending
    assert sorted(numbers) == [*range(4 * each)]
    for number in range(4):
        own = [n for n in numbers if n // each == number]
        assert own == sorted(own)


async def test_what_is_abandoned_comes_again_before_what_was_sent_later(broker: BrokerProcess) -> None:
    queue = broker.queue()
    async with (
        client_of(broker) as client,
        client.get_queue_sender(queue) as sender,
        client.get_queue_receiver(queue) as receiver,
    ):
        await sender.send_messages([ServiceBusMessage(f"{n}") for n in range(12)])
        first = [m for _ in range(3) for m in await receiver.receive_messages(1, max_wait_time=10)]
        for message in reversed(first):
            await receiver.abandon_message(message)
        got: list[str] = []
        while len(got) < 12:
            for message in await receiver.receive_messages(4, max_wait_time=10):
                got.append(str(message))
                await receiver.complete_message(message)
    assert got == [f"{n}" for n in range(12)]
