"""As many clients as a busy test suite has."""

from __future__ import annotations

import asyncio
import resource

import pytest
from azure.servicebus import ServiceBusMessage

from devhost.amqp.performatives import RECEIVER, Transfer
from tests.broker.client import desk_of
from tests.broker.process import BrokerProcess
from tests.broker.raw import peer_of

pytestmark = [pytest.mark.broker, pytest.mark.slow]
CLIENTS = 2000


async def test_two_thousand_receivers_wait_at_once_and_the_next_message_still_comes(
    broker: BrokerProcess,
) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < CLIENTS + 200:
        pytest.skip(f"this system allows a process only {most} sockets")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    queue = broker.queue()
    ready = 0
    everybody, served = asyncio.Event(), asyncio.Event()

    async def wait_for_a_message() -> None:
        nonlocal ready
        async with peer_of(broker) as peer:
            await peer.login()
            await peer.authorize(queue)
            await peer.attach(1, RECEIVER, queue)
            peer.flow(1, 1)
            ready += 1
            if ready == CLIENTS:
                everybody.set()
            transfer = asyncio.create_task(peer.expect(Transfer))
            over = asyncio.create_task(served.wait())
            await asyncio.wait([transfer, over], return_when=asyncio.FIRST_COMPLETED)
            if transfer.done() and transfer.exception() is None:
                served.set()
            transfer.cancel()
            over.cancel()

    waiting = [asyncio.create_task(wait_for_a_message()) for _ in range(CLIENTS)]
    await asyncio.wait_for(everybody.wait(), 90)
    async with desk_of(broker) as sending, sending.client.get_queue_sender(queue) as sender:
        await sender.send_messages(ServiceBusMessage("x"))
    await asyncio.wait_for(served.wait(), 30)
    await asyncio.gather(*waiting)
