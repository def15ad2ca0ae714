"""Servers between an adapter and storage that lose answers, or never give one."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

_CHUNK = 64 * 1024
_HOST = "127.0.0.1"


@dataclass(slots=True)
class Relay:
    """Passes bytes on, but cuts the connection instead of passing on `lose` answers, after `skip` others.

    What was asked for has then taken effect, and the client cannot know. `lost` counts them. For one request
    at a time, with answers that fit one segment.
    """

    port: int
    skip: int = 0
    lose: int = 0
    lost: int = 0
    connections: set[asyncio.Task[None]] = field(default_factory=set)


@asynccontextmanager
async def relay_to(target: int) -> AsyncIterator[Relay]:
    """A relay on a free port to `target`, both on loopback."""
    relay = Relay(port=0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream_reader, upstream_writer = await asyncio.open_connection(_HOST, target)
        try:
            async with asyncio.TaskGroup() as group:
                there = group.create_task(_pump(reader, upstream_writer))
                back = group.create_task(_answers(relay, upstream_reader, writer))
                await asyncio.wait({there, back}, return_when=asyncio.FIRST_COMPLETED)
                there.cancel()
                back.cancel()
        finally:
            await _close(upstream_writer)
            await _close(writer)

    async with _listening(serve, relay.connections) as port:
        relay.port = port
        yield relay


@asynccontextmanager
async def black_hole() -> AsyncIterator[int]:
    """The port of a server that takes connections and requests and never answers, as if frozen."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.read(_CHUNK):
                pass
        finally:
            await _close(writer)

    async with _listening(serve, set()) as port:
        yield port


@asynccontextmanager
async def _listening(serve: object, tasks: set[asyncio.Task[None]]) -> AsyncIterator[int]:
    assert callable(serve)

    async def tracked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await serve(reader, writer)
        finally:
            tasks.discard(task)

    server = await asyncio.start_server(tracked, _HOST, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()


async def _answers(relay: Relay, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK):
        if relay.skip > 0:
            relay.skip -= 1
        elif relay.lose > 0:
            relay.lose -= 1
            relay.lost += 1
            writer.transport.abort()
            return
        writer.write(data)
        await writer.drain()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
