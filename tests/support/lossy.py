"""What stands where a server is expected and loses answers, never gives one, or refuses connections."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from devhost.faults.proxy import Proxy
from devhost.ports import LOOPBACK

_CHUNK = 64 * 1024


class Relay:
    """Resets the connection instead of passing on `lose` answers, after `skip` others.

    What was asked for has then taken effect, and the client cannot know. `lost` counts them.
    """

    def __init__(self, proxy: Proxy) -> None:
        """Pass everything on, through `proxy`."""
        self.port = proxy.port
        self._proxy = proxy
        self._skip = 0

    @property
    def skip(self) -> int:
        """What was set last; in force from the next `lose`."""
        return self._skip

    @skip.setter
    def skip(self, count: int) -> None:
        self._skip = count

    @property
    def lose(self) -> int:
        """How many answers are still to be lost."""
        return self._proxy.answers_left_to_lose

    @lose.setter
    def lose(self, count: int) -> None:
        self._proxy.lose_answers(count, self._skip)

    @property
    def lost(self) -> int:
        """How many answers were lost."""
        return self._proxy.cuts


@asynccontextmanager
async def relay_to(target: int) -> AsyncIterator[Relay]:
    """A relay on a free port to `target`, both on loopback."""
    with Proxy(target) as proxy:
        yield Relay(proxy)


@asynccontextmanager
async def black_hole() -> AsyncIterator[int]:
    """The port of a server that takes connections and requests and never answers, as if frozen."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.CancelledError):
                while await reader.read(_CHUNK):
                    pass
        finally:
            tasks.discard(task)
            writer.transport.abort()

    server = await asyncio.start_server(serve, LOOPBACK, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


@contextmanager
def refusing() -> Iterator[int]:
    """A port that refuses connections: held, so that nobody else can listen there, but not listened on."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as held:
        held.bind((LOOPBACK, 0))
        yield int(held.getsockname()[1])
