"""SIGKILL in the middle of sending and settling: what was confirmed holds."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from devhost.amqp.message import build, split
from devhost.amqp.outcomes import Accepted, describe_state, read_state
from devhost.amqp.performatives import RECEIVER, SENDER, Disposition, Transfer
from tests.broker.client import desk_of
from tests.broker.process import BrokerProcess, running_broker
from tests.broker.raw import Peer, peer_of

pytestmark = [pytest.mark.broker, pytest.mark.kills, pytest.mark.timeout(240)]
ROUNDS = 8


@dataclass
class Ledger:
    """What the broker was asked and what it confirmed, over all rounds."""

    next: int = 0
    sent: set[int] = field(default_factory=set)
    stored: set[int] = field(default_factory=set)
    completing: set[int] = field(default_factory=set)
    completed: set[int] = field(default_factory=set)


async def work(broker: BrokerProcess, queue: str, ledger: Ledger) -> None:
    """Send and complete as fast as it goes, until the connection breaks."""
    numbers: dict[int, int] = {}
    async with peer_of(broker) as peer:
        await peer.login()
        await peer.authorize(queue)
        await peer.attach(1, SENDER, queue)
        await peer.attach(2, RECEIVER, queue)
        peer.flow(2, 100_000)
        sending = asyncio.create_task(send(peer, ledger))
        try:
            while True:
                performative, payload = await peer.frame()
                match performative:
                    case Transfer(delivery_id=int(delivery_id)):
                        numbers[delivery_id] = number = int(str(split(payload).value()))
                        ledger.completing.add(number)
                        accepted = describe_state(Accepted())
                        peer.send(Disposition(role=RECEIVER, first=delivery_id, state=accepted))
                    case Disposition(first=first, role=role, state=state):
                        assert read_state(state) == Accepted()
                        if role is RECEIVER:
                            ledger.stored.add(first)
                        else:
                            ledger.completed.add(numbers[first])
                    case _:
                        pass
        except (EOFError, OSError):
            pass
        finally:
            sending.cancel()


async def send(peer: Peer, ledger: Ledger) -> None:
    """Each message's number is its delivery-id as well."""
    while True:
        number = ledger.next
        ledger.next += 1
        ledger.sent.add(number)
        peer.send(Transfer(handle=1, delivery_id=number, delivery_tag=b"t"), build(value=f"{number}"))
        await asyncio.sleep(0 if number % 20 else 0.002)


async def left_in(broker: BrokerProcess, queue: str) -> list[int]:
    """The numbers of every message of the queue and its dead letters, in whatever state."""
    found = []
    for sub_queue in (None, "deadletter"):
        options = {"sub_queue": sub_queue} if sub_queue else {}
        async with desk_of(broker, queue=queue, **options) as desk:
            while messages := await desk.receiver.peek_messages(1000):
                found += [int(message.body) for message in messages]
    return found


async def test_kills_lose_no_confirmed_message_and_bring_back_no_completed_one(tmp_path: Path) -> None:
    dice = random.Random(7)
    ledger = Ledger()
    with running_broker(tmp_path) as broker:
        queue = broker.queue("kept")
        for _ in range(ROUNDS):
            working = asyncio.create_task(work(broker, queue, ledger))
            await asyncio.sleep(0.3 + dice.random() * 0.5)
            await asyncio.to_thread(broker.kill)
            await working
            await asyncio.to_thread(broker.start)
        left = await left_in(broker, queue)
    assert len(ledger.stored) > ROUNDS
    assert len(ledger.completed) > ROUNDS
    assert len(left) == len(set(left))
    assert set(left) <= ledger.sent
    assert not ledger.completed & set(left)
    assert ledger.stored - ledger.completing <= set(left)
