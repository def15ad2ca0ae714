"""One receiver on a queue, used for one thing at a time: receive, renew a lock, settle.

The SDK's handlers are documented as not safe for concurrent use, and one that waits for messages delays a
settlement on the same connection; so a link carries one message at a time. The SDK's own retries are off: the
host decides when to try again. Source: the README of the PyPI package azure-servicebus.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from azure.servicebus import ServiceBusReceivedMessage, ServiceBusSubQueue
from azure.servicebus.aio import ServiceBusClient, ServiceBusReceiver
from azure.servicebus.exceptions import MessageAlreadySettled, MessageLockLostError, ServiceBusError

from devhost.functions.log import host_log

_DEAD_LETTER_SUFFIX = "/$deadletterqueue"
_POLL_SECONDS = 1.0
_CLOSE_SECONDS = 3.0
_RENEW_TIMEOUT_SECONDS = 5.0
_SETTLE_RETRY_SECONDS = 0.5
_SETTLE_GIVE_UP = timedelta(minutes=2)
BROKEN = (ServiceBusError, ValueError, OSError, RuntimeError, AttributeError)
"""What the SDK raises when the connection, the link or its own handler is gone."""
_FINAL = (MessageLockLostError, MessageAlreadySettled)

Settle = Callable[[ServiceBusReceivedMessage], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class QueueAddress:
    """A queue, or the dead-letter queue of it."""

    connection_string: str
    queue: str
    dead_letters: bool

    @classmethod
    def parse(cls, connection_string: str, queue_name: str) -> "QueueAddress":
        """`<queue>/$deadletterqueue` (any case) names the dead-letter queue."""
        dead_letters = queue_name.lower().endswith(_DEAD_LETTER_SUFFIX)
        queue = queue_name[: -len(_DEAD_LETTER_SUFFIX)] if dead_letters else queue_name
        return cls(connection_string, queue, dead_letters)


class QueueLink:
    """A client and its one receiver. Raises ValueError for a connection string that cannot be read."""

    def __init__(self, address: QueueAddress) -> None:
        self._client = ServiceBusClient.from_connection_string(address.connection_string, retry_total=0)
        self._receiver: ServiceBusReceiver = self._client.get_queue_receiver(
            address.queue,
            sub_queue=ServiceBusSubQueue.DEAD_LETTER if address.dead_letters else None,
            prefetch_count=0,
        )
        self._turn = asyncio.Lock()
        self.broken = False
        """Set once anything failed on it; such a link takes no further message."""

    async def open(self) -> None:
        """Connect. Raises one of BROKEN."""
        await self._receiver.__aenter__()

    async def receive(self) -> ServiceBusReceivedMessage | None:
        """The next message, or None when none came within a second. Raises one of BROKEN.

        One at a time: credit beyond what runs at once would lock messages that then wait.
        """
        messages = await self._receiver.receive_messages(max_message_count=1, max_wait_time=_POLL_SECONDS)
        return messages[0] if messages else None

    async def renew_until(
        self, message: ServiceBusReceivedMessage, done: asyncio.Event, limit: timedelta
    ) -> None:
        """Keep the lock alive until `done`, for at most `limit` (negative: for ever). Never raises."""
        begun = datetime.now(UTC)
        while (locked_until := message.locked_until_utc) is not None:
            left = (locked_until - datetime.now(UTC)).total_seconds()
            if await _comes_within(done, max(left / 2, 0.2)):
                return
            if timedelta(0) <= limit <= datetime.now(UTC) - begun:
                return
            failure = await self._failure_of(self._renew(message, done))
            if isinstance(failure, _FINAL) or (failure is not None and left <= 0):
                host_log.warning("event=lock_lost sequence_number=%s", message.sequence_number)
                return

    async def complete(self, message: ServiceBusReceivedMessage) -> None:
        await self._settle("complete", message, self._receiver.complete_message)

    async def abandon(self, message: ServiceBusReceivedMessage) -> None:
        await self._settle("abandon", message, self._receiver.abandon_message)

    async def close(self) -> None:
        """Let go of the connection; what is still locked comes back when its lock runs out."""
        for closing in (self._receiver.close, self._client.close):
            try:
                await asyncio.wait_for(closing(), _CLOSE_SECONDS)
            except (*BROKEN, TimeoutError) as error:
                host_log.debug("event=close_failed error=%s", type(error).__name__)

    async def _renew(self, message: ServiceBusReceivedMessage, done: asyncio.Event) -> None:
        async with self._turn:
            if not done.is_set():
                await self._receiver.renew_message_lock(message, timeout=_RENEW_TIMEOUT_SECONDS)

    async def _settle(self, what: str, message: ServiceBusReceivedMessage, settle: Settle) -> None:
        """Settle, again and again while the broker is away; a lost lock is only logged."""
        give_up = message.locked_until_utc or datetime.now(UTC) + _SETTLE_GIVE_UP
        async with self._turn:
            failure = await self._failure_of(settle(message))
            while failure is not None and not isinstance(failure, _FINAL) and datetime.now(UTC) < give_up:
                await asyncio.sleep(_SETTLE_RETRY_SECONDS)
                failure = await self._failure_of(self._settle_anew(message, settle))
        if failure is not None:
            kind = type(failure).__name__
            host_log.warning(
                "event=%s_failed sequence_number=%s error=%s", what, message.sequence_number, kind
            )

    async def _settle_anew(self, message: ServiceBusReceivedMessage, settle: Settle) -> None:
        """Open the receiver again first; the SDK then settles over the management link."""
        await self._receiver.__aenter__()
        await settle(message)

    async def _failure_of(self, work: Awaitable[None]) -> Exception | None:
        try:
            await work
        except BROKEN as error:
            self.broken = True
            return error
        return None


async def _comes_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
