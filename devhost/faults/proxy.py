"""A TCP proxy between two parts that can delay, throttle, stall, swallow, cut and refuse what passes."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self, TypeVar

from devhost.faults.link import Link
from devhost.faults.state import Cut, Direction, Ending, Fault, LostAnswers, State, Switches
from devhost.ports import LOOPBACK, free_ports
from devhost.system import SYSTEM

_Result = TypeVar("_Result")
_BACKLOG = 512
_RECEIVE_BUFFER = 64 * 1024
"""Small, so that a stalled stream fills its sender's window soon."""
_TIMEOUT_SECONDS = 60
_TRIES = 5


class Proxy:
    """Forwards connections to a port, from a thread of its own; its methods may be called from any thread.

    A fault is in force when its method returns, for connections that are open and for new ones, in both
    directions unless one is named, until `heal`. Memory is bounded: about 2.5 MiB a connection at most.
    """

    def __init__(self, target: int, port: int = 0, *, target_host: str = LOOPBACK) -> None:
        """Listen on loopback at `port` (0: a free one) and forward to `target` on `target_host`."""
        self._target = (target_host, target)
        self._state = State()
        self._links: set[Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        try:
            self.port = self._call(lambda: self._open(port))
        except BaseException:
            self.close()
            raise

    def delay(self, seconds: float, direction: Direction | None = None) -> None:
        """Let each byte arrive so much later; the order and the rate stay."""
        self._set(direction, lambda switches: setattr(switches, "delay", seconds))

    def throttle(self, bytes_per_second: float, direction: Direction | None = None) -> None:
        """Let no more than so many bytes a second through each connection."""
        self._set(direction, lambda switches: setattr(switches, "rate", bytes_per_second))

    def stall(self, direction: Direction | None = None) -> None:
        """Read nothing more, so that the sender's window fills. Nothing is lost: healed, it flows on."""
        self._set(direction, lambda switches: setattr(switches, "stall", True))

    def black_hole(self, direction: Direction | None = None) -> None:
        """Take everything, and pass on neither data nor ends, as a lost network would."""
        self._set(direction, lambda switches: setattr(switches, "black_hole", True))

    def cut(self, direction: Direction | None = None, ending: Ending = Ending.RESET) -> None:
        """End all connections now; new ones are served.

        With a direction only its receiver sees an end: after a RESET towards the client the target keeps a
        connection with nobody behind it, after a FIN the other direction flows on.
        """

        def act() -> None:
            for link in list(self._links):
                link.end(ending, direction)

        self._do(act)

    def cut_after(self, direction: Direction, count: int, ending: Ending = Ending.RESET) -> None:
        """Let exactly `count` more bytes of a direction through, over all connections together.

        The connection that brings the next one is ended in its place, once; then all is well. After a RESET
        the receiver may not get to see bytes it had not read yet, as with any reset.
        """
        self._set(direction, lambda switches: setattr(switches, "cut", Cut(count, ending)))

    def lose_answers(self, count: int = 1, skip: int = 0) -> None:
        """Reset the connection in place of the next `count` answers, after `skip` that pass.

        An answer begins with the first byte down after a byte up. What was asked for has taken effect then,
        and the client cannot know.
        """
        self._do(lambda: setattr(self._state, "lost", LostAnswers(count, skip)))

    def refuse(self, *, keep_open: bool = False) -> None:
        """Listen no more, so that the system refuses connections, and reset those there are."""

        def act() -> None:
            if self._server is not None:
                self._server.close()
                self._server = None
            for link in () if keep_open else list(self._links):
                link.end(Ending.RESET)

        self._do(act)

    def heal(self, *faults: Fault) -> None:
        """End these faults, or all. Connections that lost bytes in a black hole are reset."""
        self._call(lambda: self._heal(set(faults or Fault)))

    @property
    def connections(self) -> int:
        """How many are open now."""
        return len(self._links)

    @property
    def cuts(self) -> int:
        """How many connections `cut_after` and `lose_answers` have ended."""
        return self._state.cuts

    @property
    def answers_left_to_lose(self) -> int:
        """How many answers `lose_answers` still waits for."""
        return self._state.lost.left

    def passed(self, direction: Direction) -> int:
        """How many bytes have been passed on in a direction."""
        return self._state.passed[direction]

    def close(self) -> None:
        """Reset everything and end the thread."""
        if self._loop.is_closed():
            return
        self._call(self._shut)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        """It serves already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def _call(self, make: Callable[[], Awaitable[_Result]]) -> _Result:
        async def call() -> _Result:
            return await make()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(_TIMEOUT_SECONDS)

    def _do(self, act: Callable[[], object]) -> None:
        async def do() -> None:
            act()
            self._state.tell()

        self._call(do)

    def _set(self, direction: Direction | None, change: Callable[[Switches], None]) -> None:
        def act() -> None:
            for each in Direction if direction is None else (direction,):
                change(self._state.switches[each])

        self._do(act)

    async def _heal(self, faults: set[Fault]) -> None:
        for fault in faults:
            self._state.heal(fault)
        if Fault.BLACK_HOLE in faults:
            for link in [link for link in self._links if link.has_gap]:
                link.end(Ending.RESET)
        self._state.tell()
        if Fault.REFUSE in faults and self._server is None:
            await self._open(self.port)

    async def _open(self, port: int) -> int:
        for tries_left in reversed(range(_TRIES)):
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            try:
                SYSTEM.before_bind(listener)
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
                listener.bind((LOOPBACK, port or free_ports(1)[0]))
                self._server = await asyncio.start_server(self._serve, sock=listener, backlog=_BACKLOG)
            except OSError:
                listener.close()
                if port or not tries_left:
                    raise
            else:
                return int(listener.getsockname()[1])
        raise AssertionError("the last try returns or raises")

    async def _shut(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            far = await self._connect()
            link = Link((reader, writer), far, self._state)
            self._links.add(link)
            try:
                await link.run()
            finally:
                self._links.discard(link)
        except (OSError, asyncio.CancelledError):
            pass  # the target is not there, or the proxy is closed
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        far = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            far.setblocking(False)
            far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
            await asyncio.get_running_loop().sock_connect(far, self._target)
            return await asyncio.open_connection(sock=far)
        except BaseException:
            with contextlib.suppress(OSError):
                far.close()
            raise
