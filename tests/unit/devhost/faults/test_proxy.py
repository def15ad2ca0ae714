"""The connection breaker, between a client and a small echo server."""

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from devhost.faults.proxy import Proxy
from devhost.ports import LOOPBACK


@pytest.fixture
async def echo() -> AsyncIterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1000):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(serve, LOOPBACK, 0) as server:
        yield server.sockets[0].getsockname()[1]


@pytest.fixture
def proxy(echo: int) -> Iterator[Proxy]:
    made = Proxy(echo)
    yield made
    made.close()


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, data: bytes, timeout: float = 5) -> bytes:
        self.writer.write(data)
        async with asyncio.timeout(timeout):
            return await self.reader.readexactly(len(data))


@pytest.fixture
async def client(proxy: Proxy) -> AsyncIterator[Client]:
    made = await _connect(proxy)
    yield made
    made.writer.close()


async def _connect(proxy: Proxy) -> Client:
    return Client(*await asyncio.open_connection(LOOPBACK, proxy.port))


async def test_data_passes_unchanged_in_both_directions(client: Client) -> None:
    data = bytes(range(256)) * 4000
    assert await client.ask(data) == data


async def test_an_end_of_stream_passes_and_the_answer_still_comes(client: Client) -> None:
    client.writer.write(b"last words")
    client.writer.write_eof()
    assert await client.reader.read() == b"last words"


async def test_delay_holds_data_back(proxy: Proxy, client: Client) -> None:
    proxy.delay(0.2)
    begun = time.monotonic()
    assert await client.ask(b"slow") == b"slow"
    assert time.monotonic() - begun >= 0.4


async def test_cut_breaks_open_connections_and_serves_new_ones(proxy: Proxy, client: Client) -> None:
    await client.ask(b"before")
    proxy.cut()
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await client.ask(b"after")
    again = await _connect(proxy)
    assert await again.ask(b"again") == b"again"
    again.writer.close()


async def test_cut_after_lets_no_more_than_so_many_bytes_through(proxy: Proxy, client: Client) -> None:
    await client.ask(b"before")
    proxy.cut_after(4 + 3)  # four on the way there, three on the way back
    client.writer.write(b"four")
    received = b""
    with contextlib.suppress(ConnectionError):  # the reset may overtake what was sent before it
        while byte := await client.reader.read(1):
            received += byte
    assert received in (b"", b"f", b"fo", b"fou")


async def test_refuse_breaks_new_connections_at_once_until_healed(proxy: Proxy) -> None:
    proxy.refuse()
    refused = await _connect(proxy)
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await refused.ask(b"hello")
    refused.writer.close()
    proxy.heal()
    served = await _connect(proxy)
    assert await served.ask(b"hello") == b"hello"
    served.writer.close()


async def test_a_black_hole_takes_data_and_never_answers(proxy: Proxy, client: Client) -> None:
    proxy.black_hole()
    with pytest.raises(TimeoutError):
        await client.ask(b"anyone?", timeout=0.3)
    proxy.heal()
    again = await _connect(proxy)
    assert await again.ask(b"here") == b"here"
    again.writer.close()


def test_a_dead_target_breaks_the_connection() -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        dead = server.getsockname()[1]
    proxy = Proxy(dead)
    try:
        with (
            socket.create_connection((LOOPBACK, proxy.port), timeout=5) as connection,
            contextlib.suppress(ConnectionResetError),
        ):
            assert connection.recv(1) == b""
    finally:
        proxy.close()
