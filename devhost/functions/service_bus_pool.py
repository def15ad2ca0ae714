"""The links of one function: opened ahead of need, because opening one takes the SDK half a second."""

import asyncio

from devhost.functions.log import host_log
from devhost.functions.service_bus_link import QueueAddress, QueueLink
from devhost.functions.service_bus_management import BROKEN


class LinkPool:
    """At most `limit` links, as many in reserve as are in use."""

    def __init__(self, address: QueueAddress, limit: int) -> None:
        self._address = address
        self._limit = limit
        self._idle: list[QueueLink] = []
        self._opening: set[asyncio.Task[QueueLink]] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._out = 0

    async def take(self) -> QueueLink:
        """An open link, the caller's alone until `put`. Raises one of BROKEN when none can be opened."""
        self._collect()
        while not self._idle:
            if not self._opening:
                self._open_one()
            await asyncio.wait(self._opening, return_when=asyncio.FIRST_COMPLETED)
            failure = self._collect()
            if failure is not None and not self._idle:
                raise failure
        self._out += 1
        link = self._idle.pop()
        for _ in range(min(self._out, self._limit - self._out) - len(self._idle) - len(self._opening)):
            self._open_one()
        return link

    def put(self, link: QueueLink) -> None:
        """Give a link back; a broken one is closed."""
        self._out -= 1
        if link.broken:
            self._close_later(link)
        else:
            self._idle.append(link)

    def discard(self, link: QueueLink) -> None:
        """Give back a link that failed: those in reserve share its broker, so they go too."""
        self._out -= 1
        self._collect()
        for gone in (link, *self._idle):
            self._close_later(gone)
        self._idle.clear()

    async def close(self) -> None:
        """Close what is in reserve; links in use are closed as they are given back."""
        for task in self._opening:
            task.cancel()
        if self._opening:
            await asyncio.wait(self._opening)
        self._collect()
        for link in self._idle:
            self._close_later(link)
        self._idle.clear()
        if self._closing:
            await asyncio.wait(self._closing)

    def _open_one(self) -> None:
        self._opening.add(asyncio.create_task(self._opened()))

    async def _opened(self) -> QueueLink:
        link = QueueLink(self._address)
        try:
            await link.open()
        except BaseException:
            await link.close()
            raise
        return link

    def _collect(self) -> Exception | None:
        """Take in the links that are open now; the failure of one that could not be opened."""
        failure: Exception | None = None
        for task in [task for task in self._opening if task.done()]:
            self._opening.discard(task)
            if task.cancelled():
                continue
            error = task.exception()
            if error is None:
                self._idle.append(task.result())
            elif isinstance(error, BROKEN):
                failure = error
                host_log.debug("event=open_failed error=%s", type(error).__name__)
            else:
                raise error
        return failure

    def _close_later(self, link: QueueLink) -> None:
        task = asyncio.create_task(link.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
