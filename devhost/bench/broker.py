"""The local broker through the unmodified SDK: what a test run can expect of it."""

import asyncio
import tempfile
import time
from pathlib import Path

from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import ServiceBusClient, ServiceBusReceiver, ServiceBusSender

from devhost.bench.effort import Effort
from devhost.bench.figures import Figure
from devhost.bench.processes import cpu_seconds, resident_bytes
from devhost.stack import Part
from devhost.testing import local_stack

_BATCH = 100
_AT_ONCE = 16
"""So many messages are completed at a time, as with `maxConcurrentCalls` 16."""
_QUEUE = "bench"


def run(effort: Effort) -> list[Figure]:
    """Small messages sent in batches of a hundred, then received and completed."""
    with tempfile.TemporaryDirectory() as folder, local_stack(Path(folder), queues=[_QUEUE]) as stack:
        pid = stack.pid(Part.BROKER)
        before, cpu = resident_bytes(pid), cpu_seconds(pid)
        sending, receiving = asyncio.run(_measure(stack.servicebus, effort.broker_batches))
        after, later = resident_bytes(pid), cpu_seconds(pid)
    count = _BATCH * effort.broker_batches
    rows = [
        Figure("sent in batches of 100 and confirmed", count / sending, "per second", f"{count} messages"),
        Figure("received and completed", count / receiving, "per second", f"{_AT_ONCE} at a time"),
    ]
    if cpu is not None and later is not None:
        rows.append(Figure("CPU of the broker, a message in and out", (later - cpu) * 1000 / count, "ms"))
    if before is not None and after is not None:
        rows.append(Figure("memory of the broker, growth", (after - before) / 2**20, "MiB"))
    return rows


async def _measure(address: str, batches: int) -> tuple[float, float]:
    """The seconds of sending, and of receiving."""
    async with ServiceBusClient.from_connection_string(address) as client:
        async with client.get_queue_sender(_QUEUE) as sender:
            await sender.send_messages(ServiceBusMessage("warm"))
            sending = await _send(sender, batches)
        async with client.get_queue_receiver(_QUEUE, prefetch_count=_BATCH) as receiver:
            await _receive(receiver, 1)
            return sending, await _receive(receiver, _BATCH * batches)


async def _send(sender: ServiceBusSender, batches: int) -> float:
    begun = time.perf_counter()
    for _ in range(batches):
        await sender.send_messages([ServiceBusMessage(b"x" * 200) for _ in range(_BATCH)])
    return time.perf_counter() - begun


async def _receive(receiver: ServiceBusReceiver, count: int) -> float:
    begun = time.perf_counter()
    while count > 0:
        wanted = min(count, _AT_ONCE)
        messages = await receiver.receive_messages(max_message_count=wanted, max_wait_time=30)
        if not messages:
            raise RuntimeError(f"The broker has lost {count} messages.")
        await asyncio.gather(*[receiver.complete_message(message) for message in messages])
        count -= len(messages)
    return time.perf_counter() - begun
