"""Back-pressure on one connection: memory stays bounded whatever the client sends or leaves unread."""

from __future__ import annotations

import asyncio

_MAX_HELD = 8 * 1024 * 1024
_WRITE_BUFFER = 1024 * 1024
_REQUESTS_AT_ONCE = 64


class Pressure:
    """Stops reading while too much waits for storage, while the client does not read, or for good."""

    def __init__(self) -> None:
        self.turns = asyncio.Semaphore(_REQUESTS_AT_ONCE)
        """One is taken for each request being answered: an answer may be far larger than its request."""
        self._transport: asyncio.Transport | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._held = 0
        self._deaf = False

    def attach(self, transport: asyncio.Transport) -> None:
        """The connection is made."""
        self._transport = transport
        transport.set_write_buffer_limits(high=_WRITE_BUFFER)

    @property
    def writable(self) -> bool:
        """Whether the client reads what it is sent."""
        return self._writable.is_set()

    async def wait_writable(self) -> None:
        """Wait until the client reads, or is gone."""
        await self._writable.wait()

    def pause_writing(self) -> None:
        """The client does not read: give it nothing more to answer."""
        self._writable.clear()
        self._adjust()

    def resume_writing(self) -> None:
        """The client reads again, or is gone."""
        self._writable.set()
        self._adjust()

    def hold(self, size: int) -> None:
        """`size` bytes wait for storage."""
        self._held += size
        self._adjust()

    def let_go(self, size: int) -> None:
        """They are dealt with."""
        self._held -= size
        self._adjust()

    def set_deaf(self, *, deaf: bool) -> None:
        """Read nothing, or read again."""
        self._deaf = deaf
        self._adjust()

    def _adjust(self) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if self.writable and self._held < _MAX_HELD and not self._deaf:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()
