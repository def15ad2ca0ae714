"""As many clients as a busy test suite has."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import socket
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from azure.servicebus import ServiceBusMessage

from devhost.amqp.framing import SASL_HEADER
from devhost.amqp.performatives import RECEIVER, Transfer
from tests.broker.client import desk_of
from tests.broker.process import BrokerProcess
from tests.broker.raw import Peer, peer_of

pytestmark = pytest.mark.broker
log = logging.getLogger(__name__)
CLIENTS = 2000
MAX_BYTES_A_CLIENT = 100 * 1024
BURST = 500
SDK_CONNECT_SECONDS = 1.0


async def patient(peer: Peer) -> Transfer:
    """The message, however late."""
    while True:
        try:
            return await peer.expect(Transfer)
        except TimeoutError:
            continue


def memory_of(broker: BrokerProcess) -> int:
    """Bytes that its process holds."""
    assert broker.process is not None
    pages = Path(f"/proc/{broker.process.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def test_a_burst_of_connects_is_taken_in_the_sdks_time_even_by_a_broker_that_is_busy(
    broker: BrokerProcess,
) -> None:
    """Busy as can be: it stands still. The SDK gives a connect one second, the rest of the way more."""
    waiting = Path("/proc/sys/net/core/somaxconn")
    if waiting.exists() and int(waiting.read_text()) < BURST:
        pytest.skip(f"this system lets only {waiting.read_text().strip()} connects wait")
    assert broker.process is not None
    with ExitStack() as stack:
        broker.process.send_signal(signal.SIGSTOP)
        try:
            address = ("127.0.0.1", broker.port)
            clients = [
                stack.enter_context(socket.create_connection(address, SDK_CONNECT_SECONDS))
                for _ in range(BURST)
            ]
        finally:
            broker.process.send_signal(signal.SIGCONT)
        for client in clients:
            client.sendall(SASL_HEADER)
        for client in clients:
            client.settimeout(30)
            assert client.recv(len(SASL_HEADER), socket.MSG_WAITALL) == SASL_HEADER


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
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
    logging_in = asyncio.Semaphore(50)  # all these clients share one process, which must keep up

    async def wait_for_a_message() -> None:
        nonlocal ready
        async with peer_of(broker) as peer:
            async with logging_in:
                await peer.login()
                await peer.authorize(queue)
                await peer.attach(1, RECEIVER, queue)
                peer.flow(1, 1)
            ready += 1
            if ready == CLIENTS:
                everybody.set()
            transfer = asyncio.create_task(patient(peer))
            over = asyncio.create_task(served.wait())
            await asyncio.wait([transfer, over], return_when=asyncio.FIRST_COMPLETED)
            if transfer.done() and transfer.exception() is None:
                served.set()
            transfer.cancel()
            over.cancel()

    before, begun = memory_of(broker), time.monotonic()
    waiting = [asyncio.create_task(wait_for_a_message()) for _ in range(CLIENTS)]
    await asyncio.wait_for(everybody.wait(), 150)
    each = (memory_of(broker) - before) / CLIENTS
    seconds = time.monotonic() - begun
    log.info("%.0f bytes and %.2f ms a client", each, seconds / CLIENTS * 1000)
    assert each < MAX_BYTES_A_CLIENT
    async with desk_of(broker) as sending, sending.client.get_queue_sender(queue) as sender:
        await sender.send_messages(ServiceBusMessage("x"))
    await asyncio.wait_for(served.wait(), 30)
    await asyncio.gather(*waiting)
