"""Short ways to use the unmodified SDK in scenarios."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from azure.servicebus import ServiceBusMessage, ServiceBusReceivedMessage
from azure.servicebus.aio import ServiceBusClient, ServiceBusReceiver, ServiceBusSender

from tests.broker.process import BrokerProcess


@dataclass
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

    async def receive(self, count: int = 1, *, wait: float = 10) -> list[ServiceBusReceivedMessage]:
        """Exactly `count` messages, however the broker splits them up."""
        found: list[ServiceBusReceivedMessage] = []
        while len(found) < count:
            more = await self.receiver.receive_messages(count - len(found), max_wait_time=wait)
            assert more, f"{len(found)} of {count} messages came"
            found += more
        return found

    async def one(self) -> ServiceBusReceivedMessage:
        """The next message."""
        return (await self.receive())[0]

    async def assert_empty(self, wait: float = 0.5) -> None:
        """Nothing is there to be received."""
        assert await self.receiver.receive_messages(1, max_wait_time=wait) == []


@asynccontextmanager
async def client_of(broker: BrokerProcess, **options: Any) -> AsyncIterator[ServiceBusClient]:
    """An SDK client."""
    async with ServiceBusClient.from_connection_string(broker.connection_string, **options) as client:
        yield client


@asynccontextmanager
async def desk_of(
    broker: BrokerProcess, kind: str = "plain", *, queue: str = "", **receiver_options: Any
) -> AsyncIterator[Desk]:
    """A desk on a fresh queue, or on the one named."""
    queue = queue or broker.queue(kind)
    async with (
        client_of(broker) as client,
        client.get_queue_sender(queue) as sender,
        client.get_queue_receiver(queue, **receiver_options) as receiver,
    ):
        yield Desk(client, queue, sender, receiver)
