"""One receiver on a queue, used for one thing at a time: receive, renew a lock, settle.

The SDK's handlers are documented as not safe for concurrent use, and one that waits for messages delays a
settlement on the same connection; so a link carries one message at a time. The SDK's own retries are off: the
host decides when to try again. Source: the README of the PyPI package azure-servicebus.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from azure.servicebus import ServiceBusReceivedMessage, ServiceBusSubQueue
from azure.servicebus.aio import ServiceBusClient, ServiceBusReceiver

from devhost.functions.log import host_log
from devhost.functions.service_bus_management import BROKEN, FINAL, ManagementLinks, Request, close

_DEAD_LETTER_SUFFIX = "/$deadletterqueue"
_REQUESTS_A_LINK = 5_000
_POLL_SECONDS = 1.0
_POLLS_A_PROBE = 30
_TRY_SECONDS = 10.0
_PROBE_SECONDS = 5.0
_RENEW_SECONDS = (2.5, 5.0)
_SHORTEST_PAUSE = 0.2
_SETTLE_RETRY_SECONDS = 0.5
_SETTLE_GIVE_UP = timedelta(minutes=2)
_BEYOND_ALL = 1 << 62
"""A sequence number that no message has."""


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
        self._client = ServiceBusClient.from_connection_string(
            address.connection_string, retry_total=0, try_timeout=_TRY_SECONDS
        )
        self._address = address
        self._receiver = self._new_receiver()
        self._management = ManagementLinks(self._receiver, self._new_receiver, limit=_REQUESTS_A_LINK)
        self._turn = asyncio.Lock()
        self._polls = 0
        self._broken = False

    @property
    def broken(self) -> bool:
        """Whether anything failed on it or it is worn out; such a link takes no further message."""
        return self._broken or self._management.worn

    async def open(self) -> None:
        """Connect. Raises one of BROKEN."""
        await self._receiver.__aenter__()

    async def receive(self) -> ServiceBusReceivedMessage | None:
        """The next message, or None when none came within a second. Raises one of BROKEN.

        One at a time: credit beyond what runs at once would lock messages that then wait. Nothing comes on a
        dead connection either, so a link that waits long asks for a sign of life.
        """
        messages = await self._receiver.receive_messages(max_message_count=1, max_wait_time=_POLL_SECONDS)
        if messages:
            self._polls = 0
            return messages[0]
        self._polls += 1
        if self._polls % _POLLS_A_PROBE == 0:
            await self._management.ask(_probe, _PROBE_SECONDS)
        return None

    async def renew_until(
        self, message: ServiceBusReceivedMessage, done: asyncio.Event, limit: timedelta
    ) -> None:
        """Keep the lock alive until `done`, for at most `limit` (negative: for ever). Never raises."""
        begun = datetime.now(UTC)
        failure: Exception | None = None
        while (locked_until := message.locked_until_utc) is not None:
            left = (locked_until - datetime.now(UTC)).total_seconds()
            pause = left / 2 if failure is None else 0.0
            if await _comes_within(done, max(pause, _SHORTEST_PAUSE)):
                return
            if timedelta(0) <= limit <= datetime.now(UTC) - begun:
                return
            failure = await self._failure_of(self._renew(message, done, left / 2))
            if isinstance(failure, FINAL) or (failure is not None and left <= 0):
                host_log.warning("event=lock_lost sequence_number=%s", message.sequence_number)
                return

    async def complete(self, message: ServiceBusReceivedMessage) -> None:
        await self._settle("complete", message, lambda receiver: receiver.complete_message(message))

    async def abandon(self, message: ServiceBusReceivedMessage) -> None:
        await self._settle("abandon", message, lambda receiver: receiver.abandon_message(message))

    async def close(self) -> None:
        """Let go of the connections; what is still locked comes back when its lock runs out."""
        await self._management.close()
        await close(self._receiver.close)
        await close(self._client.close)

    def _new_receiver(self) -> ServiceBusReceiver:
        return self._client.get_queue_receiver(
            self._address.queue,
            sub_queue=ServiceBusSubQueue.DEAD_LETTER if self._address.dead_letters else None,
            prefetch_count=0,
        )

    async def _renew(self, message: ServiceBusReceivedMessage, done: asyncio.Event, seconds: float) -> None:
        """One attempt, which leaves time for another before the lock is lost."""
        shortest, longest = _RENEW_SECONDS
        async with self._turn:
            if not done.is_set():
                await self._management.ask(
                    lambda receiver: receiver.renew_message_lock(message),
                    min(max(seconds, shortest), longest),
                )

    async def _settle(self, what: str, message: ServiceBusReceivedMessage, settle: Request) -> None:
        """Settle, again and again while the broker is away; a lost lock is only logged."""
        give_up = message.locked_until_utc or datetime.now(UTC) + _SETTLE_GIVE_UP
        async with self._turn:
            failure = await self._failure_of(asyncio.wait_for(settle(self._receiver), _TRY_SECONDS))
            if failure is not None:
                self._management.suspect()
            while failure is not None and not isinstance(failure, FINAL) and datetime.now(UTC) < give_up:
                await asyncio.sleep(_SETTLE_RETRY_SECONDS)
                failure = await self._failure_of(self._management.ask(settle, _TRY_SECONDS))
        if failure is not None:
            kind = type(failure).__name__
            host_log.warning(
                "event=%s_failed sequence_number=%s error=%s", what, message.sequence_number, kind
            )

    async def _failure_of(self, work: Awaitable[object]) -> Exception | None:
        try:
            await work
        except BROKEN as error:
            self._broken = True
            return error
        return None


async def _probe(receiver: ServiceBusReceiver) -> None:
    """Ask for what is not there: any answer shows that the connection lives."""
    await receiver.peek_messages(max_message_count=1, sequence_number=_BEYOND_ALL)


async def _comes_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
