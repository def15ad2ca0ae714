"""Work on large bodies: beside the event loop, and on few at the same time, so that memory is bounded.

While it is verified, parsed and stored, a body costs about twice its size, as what is long in it is neither
decoded nor copied (`large_json`): it is there once, and again while it is received, and so is a form's JSON.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import ClassVar, TypeVar

from shared.errors import TransientError
from shared.sizes import KIB, MIB

T = TypeVar("T")
LARGE_BODY = 128 * KIB  # strict JSON of this size takes about ten milliseconds
MOST_AT_ONCE = 64 * MIB
"""So many bytes of large bodies are worked on at the same time: two of the largest that any sender sends."""
_THREADS = 4

# A pool of its own: work whose caller gave up runs on, and what comes after it waits instead of adding to it.
_pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="large-body")


class Overloaded(TransientError):
    """Too many large bodies came at once. Send this one again later."""

    code: ClassVar[str] = "overloaded"


class LargeBodies:
    """Lets large bodies in, first come, first served, as far as there is room for them."""

    def __init__(self, most: int = MOST_AT_ONCE) -> None:
        self._most = most
        self._free = most
        self._door = asyncio.Lock()
        self._room = asyncio.Event()

    @asynccontextmanager
    async def turn(self, size: int, until: float | None = None) -> AsyncIterator[None]:
        """Hold room for a body of `size` bytes; a small one needs none.

        Raises Overloaded when there is none by `until`, in the event loop's time.
        """
        if size <= LARGE_BODY:
            yield
            return
        size = min(size, self._most)
        try:
            async with asyncio.timeout_at(until):
                await self._enter(size)
        except TimeoutError:
            raise Overloaded from None
        try:
            yield
        finally:
            self._free += size
            self._room.set()

    async def _enter(self, size: int) -> None:
        async with self._door:
            while self._free < size:
                self._room.clear()
                await self._room.wait()
            self._free -= size


async def aside(content: bytes, work: Callable[[], T], until: float | None = None) -> T:
    """`work` on the content, in a thread where that is so large that it would hold up the event loop.

    Raises Overloaded when the thread has not ended by `until`.
    """
    if len(content) <= LARGE_BODY:
        return work()
    running = asyncio.get_running_loop().run_in_executor(_pool, work)
    try:
        async with asyncio.timeout_at(until):
            return await running
    except TimeoutError:
        raise Overloaded from None
