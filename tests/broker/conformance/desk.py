"""A sender and a receiver on one queue, with short ways to use them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from azure.servicebus import ServiceBusMessage, ServiceBusReceivedMessage
from azure.servicebus.aio import ServiceBusClient, ServiceBusReceiver, ServiceBusSender


@dataclass(frozen=True)
class Desk:
    """A sender and a receiver on one queue."""

    client: ServiceBusClient
    queue: str
    sender: ServiceBusSender
    receiver: ServiceBusReceiver

    async def send(self, *bodies: str, **properties: Any) -> None:
        """Send each body as a message of its own."""
        for body in bodies:
            await self.sender.send_messages(ServiceBusMessage(body, **properties))

    async def send_list(self, bodies: Iterable[object]) -> None:
        """Send all bodies as one batch."""
        await self.sender.send_messages([ServiceBusMessage(str(body)) for body in bodies])

    async def receive(self, count: int = 1, *, wait: float = 10) -> list[ServiceBusReceivedMessage]:
        """Exactly `count` messages, by their numbers."""
        found = await self.as_they_come(count, wait=wait)
        return sorted(found, key=lambda message: message.sequence_number or 0)

    async def as_they_come(self, count: int, *, wait: float = 10) -> list[ServiceBusReceivedMessage]:
        """Exactly `count` messages.

        A busy machine splits them into several calls, and without prefetching the SDK gives back what
        comes between two calls: only a receiver that prefetches then gets them in order.
        """
        found: list[ServiceBusReceivedMessage] = []
        while len(found) < count:
            more = await self.receiver.receive_messages(count - len(found), max_wait_time=wait)
            assert more, f"{len(found)} of {count} messages came"
            found += more
        return found

    async def one(self) -> ServiceBusReceivedMessage:
        """The next message."""
        return (await self.receive())[0]

    async def deferred(self, *bodies: str) -> list[int]:
        """Send messages, receive and defer them: their sequence numbers."""
        await self.send_list(bodies)
        numbers = []
        for message in await self.receive(len(bodies)):
            await self.receiver.defer_message(message)
            numbers.append(message.sequence_number or 0)
        return numbers

    async def fetch(self, *numbers: int) -> list[ServiceBusReceivedMessage]:
        """Deferred messages by their numbers."""
        return await self.receiver.receive_deferred_messages(list(numbers))

    async def stored(self) -> list[str]:
        """The bodies of all messages in the queue, whatever their state."""
        return texts(await self.receiver.peek_messages(100, sequence_number=1))

    async def assert_empty(self, wait: float = 0.5) -> None:
        """Nothing is there to be received."""
        assert await self.receiver.receive_messages(1, max_wait_time=wait) == []

    @asynccontextmanager
    async def another(self, **options: Any) -> AsyncIterator[Desk]:
        """The same queue through a receiver of its own."""
        async with self.client.get_queue_receiver(self.queue, **options) as receiver:
            yield replace(self, receiver=receiver)

    def below(self, **options: Any) -> Any:
        """The dead letters of the queue."""
        return self.another(sub_queue="deadletter", **options)

    async def dead_letters(self, count: int = 1) -> list[ServiceBusReceivedMessage]:
        """Messages of the dead-letter queue, left locked."""
        async with self.below() as below:
            found: list[ServiceBusReceivedMessage] = await below.receive(count)
            return found


def texts(messages: Iterable[ServiceBusReceivedMessage]) -> list[str]:
    """The bodies as text."""
    return [str(message) for message in messages]


async def until(moment: datetime | None) -> None:
    """Sleep until just after a moment."""
    assert moment is not None
    await asyncio.sleep(max((moment - datetime.now(UTC)).total_seconds(), 0) + 0.05)


@asynccontextmanager
async def both_open(*handlers: Any) -> AsyncIterator[None]:
    """Senders and receivers, opened and closed side by side: each takes the SDK a second."""
    try:
        await asyncio.gather(*(handler.__aenter__() for handler in handlers))
        yield
    finally:
        await asyncio.gather(*(handler.close() for handler in handlers))
