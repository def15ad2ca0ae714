"""The requests of a queue link: renewals, probes, and settlements whose own link is gone.

Each goes over the `$management` link of a receiver. Such a link wears out: the SDK gives it 10,000 credits
for answers once and never more, so the next request stays without (azure-servicebus 7.15.0, `_pyamqp`). And a
receiver whose connection broke refuses to renew instead of connecting anew. In both cases a fresh receiver
takes over, opened before the one in use is let go.
"""

import asyncio
from collections.abc import Awaitable, Callable

from azure.servicebus.aio import ServiceBusReceiver
from azure.servicebus.exceptions import MessageAlreadySettled, MessageLockLostError, ServiceBusError

from devhost.functions.log import host_log

BROKEN = (ServiceBusError, ValueError, OSError, RuntimeError, AttributeError)
"""What the SDK raises when the connection, the link or its own handler is gone; and `TimeoutError`."""

FINAL = (MessageLockLostError, MessageAlreadySettled)
"""Answers about a message: another attempt would bring the same."""

_CLOSE_SECONDS = 3.0

Request = Callable[[ServiceBusReceiver], Awaitable[object]]


class ManagementLinks:
    """One receiver after another, for one request at a time.

    `first` is the caller's: it is used while it works and never closed here. `another` makes the next, after
    `limit` requests or a failure.
    """

    def __init__(
        self, first: ServiceBusReceiver, another: Callable[[], ServiceBusReceiver], *, limit: int
    ) -> None:
        self._first = first
        self._another = another
        self._limit = limit
        self._current = first
        self._used = 0
        self._suspect = False
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def worn(self) -> bool:
        """Whether the first receiver should carry no further message."""
        return self._suspect or self._used >= self._limit or self._current is not self._first

    def suspect(self) -> None:
        """Something failed on the connection: the next request takes a fresh one."""
        self._suspect = True

    async def ask(self, request: Request, seconds: float) -> None:
        """One request, within that time. Raises one of BROKEN."""
        async with asyncio.timeout(seconds):
            await self._refresh(seconds)
            self._used += 1
            try:
                await request(self._current)
            except FINAL:
                raise
            except BaseException:
                self._suspect = True
                raise

    async def close(self) -> None:
        """Close what was opened here."""
        self._let_go()
        while self._closing:
            await asyncio.wait(set(self._closing))

    async def _refresh(self, seconds: float) -> None:
        """A link that is only worn still serves when no fresh one opens in half the time."""
        if not self._suspect and self._used < self._limit:
            return
        fresh = self._another()
        try:
            await asyncio.wait_for(fresh.__aenter__(), seconds if self._suspect else seconds / 2)
        except BaseException as error:
            self._close_later(fresh)
            if self._suspect or not isinstance(error, BROKEN):
                raise
            host_log.debug("event=link_not_renewed error=%s", type(error).__name__)
            return
        self._let_go()
        self._current, self._used, self._suspect = fresh, 0, False

    def _let_go(self) -> None:
        if self._current is not self._first:
            self._close_later(self._current)
        self._current = self._first

    def _close_later(self, receiver: ServiceBusReceiver) -> None:
        task = asyncio.create_task(close(receiver.close))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


async def close(closing: Callable[[], Awaitable[None]]) -> None:
    """Close a part of the SDK: a broker that does not answer must not keep the host."""
    try:
        await asyncio.wait_for(closing(), _CLOSE_SECONDS)
    except BROKEN as error:
        host_log.debug("event=close_failed error=%s", type(error).__name__)
