"""One connection through a proxy: two streams, each with what is done to it on the way."""

import asyncio
import contextlib
import socket
import struct

from devhost.faults.state import Direction, Ending, State, Switches

CHUNK = 64 * 1024
_HELD_PIECES = 16
"""Pieces of a delayed stream that are on their way: with `CHUNK`, 1 MiB a direction."""
_SLICES_PER_SECOND = 20
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)

Piece = bytes | Ending


class Link:
    """Two streams between a client and the target. `run` ends when both have."""

    def __init__(
        self,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        target: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        state: State,
    ) -> None:
        """Nothing flows yet."""
        self._state = state
        self._readers = {Direction.UP: client[0], Direction.DOWN: target[0]}
        self._writers = {Direction.UP: target[1], Direction.DOWN: client[1]}
        self._ended: set[Direction] = set()
        self._asked = False
        self.has_gap = False
        """Whether bytes were swallowed: the streams no longer fit together."""
        for writer in self._writers.values():
            writer.transport.set_write_buffer_limits(high=0)  # what was drained is in the socket

    async def run(self) -> None:
        """Carry both streams until they have ended."""
        try:
            await asyncio.gather(*(self._carry(direction) for direction in Direction))
        finally:
            if len(self._ended) < len(Direction):
                self.end(Ending.RESET)
            for writer in self._writers.values():
                writer.transport.abort()

    def end(self, ending: Ending, only: Direction | None = None) -> None:
        """End both streams, or that of one direction as its receiver sees it; the other then flows on."""
        if only is None:
            self._ended.update(Direction)
            for writer in self._writers.values():
                _end(writer, ending, whole=True)
        elif only not in self._ended:
            self._ended.add(only)
            _end(self._writers[only], ending, whole=False)
            if ending is Ending.RESET:
                self._ended.add(only.other)  # its source is gone, which its receiver must not be told

    async def _carry(self, direction: Direction) -> None:
        pieces: asyncio.Queue[tuple[float, Piece]] = asyncio.Queue(_HELD_PIECES)
        reading = asyncio.create_task(self._read(direction, pieces))
        try:
            while True:
                due, piece = await pieces.get()
                await self._wait_until(due, direction)
                if isinstance(piece, Ending):
                    await self._pass_ending(piece, direction)
                    return
                await self._pass(piece, direction)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _read(self, direction: Direction, pieces: asyncio.Queue[tuple[float, Piece]]) -> None:
        reader, clock = self._readers[direction], asyncio.get_running_loop().time
        while True:
            await self._while_stalled(direction)
            try:
                piece: Piece = await reader.read(CHUNK) or Ending.FIN
            except OSError:
                piece = Ending.RESET
            await pieces.put((clock() + self._switches(direction).delay, piece))
            if isinstance(piece, Ending):
                return

    async def _pass(self, data: bytes, direction: Direction) -> None:
        while data and direction not in self._ended:
            await self._while_stalled(direction)
            switches = self._switches(direction)
            if switches.black_hole:
                self.has_gap = True
                return
            piece = self._allowed(data[: _slice(switches.rate)], direction)
            if direction not in self._ended:  # it may have been while this waited
                await self._write(piece, direction)
            data = data[len(piece) :]

    def _allowed(self, piece: bytes, direction: Direction) -> bytes:
        """As much of it as may pass; with nothing, the connection has been cut in its place."""
        if direction is Direction.UP:
            self._asked = True
        elif self._asked:
            self._asked = False
            if self._state.lost.take():
                return self._cut(Ending.RESET)
        switches = self._switches(direction)
        if switches.cut is None:
            return piece
        piece = piece[: switches.cut.left]
        if not piece:
            ending, switches.cut = switches.cut.ending, None
            return self._cut(ending)
        switches.cut.left -= len(piece)
        return piece

    def _cut(self, ending: Ending) -> bytes:
        self._state.cuts += 1
        self.end(ending)
        return b""

    async def _write(self, piece: bytes, direction: Direction) -> None:
        writer, rate = self._writers[direction], self._switches(direction).rate
        begun = asyncio.get_running_loop().time()
        writer.write(piece)
        try:
            await writer.drain()
        except OSError:
            self.end(Ending.RESET)
            return
        self._state.passed[direction] += len(piece)
        if rate is not None:
            await self._wait_throttled(begun + len(piece) / rate, rate, direction)

    async def _pass_ending(self, ending: Ending, direction: Direction) -> None:
        while self._switches(direction).black_hole or self._switches(direction).stall:
            self.has_gap = self.has_gap or self._switches(direction).black_hole
            await self._state.change()
        self.end(ending, direction if ending is Ending.FIN else None)

    async def _while_stalled(self, direction: Direction) -> None:
        while self._switches(direction).stall:
            await self._state.change()

    async def _wait_until(self, due: float, direction: Direction) -> None:
        clock = asyncio.get_running_loop().time
        while self._switches(direction).delay and (left := due - clock()) > 0:
            await self._state.change(left)

    async def _wait_throttled(self, due: float, rate: float, direction: Direction) -> None:
        clock = asyncio.get_running_loop().time
        while self._switches(direction).rate == rate and (left := due - clock()) > 0:
            await self._state.change(left)

    def _switches(self, direction: Direction) -> Switches:
        return self._state.switches[direction]


def _slice(rate: float | None) -> int:
    return CHUNK if rate is None else max(1, min(CHUNK, int(rate / _SLICES_PER_SECOND)))


def _end(writer: asyncio.StreamWriter, ending: Ending, *, whole: bool) -> None:
    """Reset or finish what goes out by a writer; `whole` closes its socket for reading too."""
    if writer.transport.is_closing():
        return
    with contextlib.suppress(OSError):
        if ending is Ending.RESET:
            writer.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE
            )  # without it a close is a FIN
            writer.transport.abort()
        elif whole:
            writer.close()
        else:
            writer.write_eof()
