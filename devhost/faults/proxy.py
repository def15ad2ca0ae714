"""A TCP proxy between two parts that can delay, cut and swallow what passes."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from devhost.ports import LOOPBACK

_Result = TypeVar("_Result")
_CHUNK = 64 * 1024
_TIMEOUT_SECONDS = 10


@dataclass(slots=True)
class _Faults:
    delay: float = 0.0
    refuse: bool = False
    black_hole: bool = False
    cut_after: int | None = None


class Proxy:
    """Forwards connections to a port on loopback, from a thread of its own; its methods are thread-safe.

    Faults hold for connections that are open and for new ones, until `heal`.
    """

    def __init__(self, target: int, port: int = 0) -> None:
        """Listen on `port` (0: a free one) and forward to `target`."""
        self._target = target
        self._faults = _Faults()
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._call(lambda: asyncio.start_server(self._serve, LOOPBACK, port, backlog=512))
        self.port: int = self._server.sockets[0].getsockname()[1]

    def delay(self, seconds: float) -> None:
        """Hold back every piece of data for this long, in both directions."""
        self._faults.delay = seconds

    def cut(self) -> None:
        """Break all connections now, by a reset; new ones are served."""
        self._loop.call_soon_threadsafe(self._break_all)

    def cut_after(self, count: int) -> None:
        """Let `count` more bytes through in all, then break every connection once; after that all is well."""
        self._faults.cut_after = count

    def refuse(self) -> None:
        """Break all connections now and each new one at once, as a dead server would."""
        self._faults.refuse = True
        self.cut()

    def black_hole(self) -> None:
        """Take connections and data, and never answer, as a lost network would."""
        self._faults.black_hole = True

    def heal(self) -> None:
        """End all faults. Connections that lost data in a black hole are broken: their streams have gaps."""
        if self._faults.black_hole:
            self.cut()
        self._faults = _Faults()

    def close(self) -> None:
        """Break everything and end the thread."""
        self._call(self._shut)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, make: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        return asyncio.run_coroutine_threadsafe(make(), self._loop).result(_TIMEOUT_SECONDS)

    async def _shut(self) -> None:
        self._server.close()
        self._break_all()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def _break_all(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._open.add(writer)
        try:
            if not self._faults.refuse:
                await self._bridge(reader, writer)
        finally:
            self._tasks.discard(task)
            self._open.discard(writer)
            writer.transport.abort()

    async def _bridge(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(LOOPBACK, self._target)
        except OSError:
            return
        self._open.add(far_writer)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pump(reader, far_writer))
                both.create_task(self._pump(far_reader, writer))
        finally:
            self._open.discard(far_writer)
            far_writer.transport.abort()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(_CHUNK):
                if self._faults.black_hole:
                    continue
                if self._faults.delay:
                    await asyncio.sleep(self._faults.delay)
                passed = self._allowed(data)
                sink.write(passed)
                await sink.drain()
                if len(passed) < len(data):
                    self._break_all()
                    return
            if sink.can_write_eof():
                sink.write_eof()

    def _allowed(self, data: bytes) -> bytes:
        if self._faults.cut_after is None:
            return data
        passed = data[: self._faults.cut_after]
        self._faults.cut_after = self._faults.cut_after - len(passed) if len(passed) == len(data) else None
        return passed
