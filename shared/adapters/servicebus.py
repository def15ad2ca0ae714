"""The message bus: confirmed sends to the job queue.

Immediate messages go as batches: while one is on the wire the next ones gather, so a busy process pays one
round trip for many messages. Delayed ones go one by one on a link of their own.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime

from shared.adapters.bus_sender import BusSender, Outgoing
from shared.adapters.coalescing import Coalescer
from shared.adapters.connections import Connections
from shared.errors import QueueUnavailable
from shared.messages import JobMessage

SEND_SECONDS = 10.0
_MOST_IN_A_BATCH = 100
_MAX_ID = 128  # characters; https://learn.microsoft.com/azure/service-bus-messaging/service-bus-quotas


class ServiceBusQueue:
    """MessageBus over one Service Bus queue."""

    def __init__(self, connections: Connections, queue: str) -> None:
        self._immediate = BusSender(connections, queue)
        self._delayed = BusSender(connections, queue)
        self._batches: Coalescer[Outgoing] = Coalescer(self._immediate.send, most=_MOST_IN_A_BATCH)
        self._singles: Coalescer[Outgoing] = Coalescer(self._delayed.send, most=1)

    async def send(
        self, message: JobMessage, *, at: datetime | None = None, suffix: str | None = None
    ) -> None:
        message_id = message.message_id if suffix is None else f"{message.message_id}:{suffix}"
        await self.send_raw(message.body(), message.properties(), message_id=message_id, at=at)

    async def send_raw(
        self, body: bytes, properties: Mapping[str, str | int], *, message_id: str, at: datetime | None
    ) -> None:
        """As the port says. Raises ValueError for an id that the service would refuse."""
        if not 0 < len(message_id) <= _MAX_ID:
            raise ValueError(f"A message id has 1 to {_MAX_ID} characters.")
        lane = self._batches if at is None else self._singles
        outgoing = Outgoing(body=body, properties=dict(properties), message_id=message_id, at=at)
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await lane.submit(outgoing)
        except TimeoutError:
            raise QueueUnavailable("The message bus did not confirm the message in time.") from None

    async def check(self) -> None:
        await self._immediate.open()

    async def aclose(self) -> None:
        """End what is being sent; waiting sends fail."""
        await asyncio.gather(self._batches.aclose(), self._singles.aclose())
        await asyncio.gather(self._immediate.aclose(), self._delayed.aclose())
