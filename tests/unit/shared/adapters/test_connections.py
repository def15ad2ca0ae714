"""How storage is reached: at once, or through the proxy that the system names."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from shared.adapters.addresses import BusAddress, StorageAddress
from shared.adapters.blobs import Blobs
from shared.adapters.connections import Connections
from shared.adapters.tables import Table

LOOPBACK = "127.0.0.1"
ACCOUNT = "AccountName=docs1;AccountKey=YW4gaW52ZW50ZWQga2V5;"
NOTHING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nDate: Sun, 02 Aug 2026 10:00:00 GMT\r\n\r\n"


class Listener:
    """Answers every request that there is no such thing; keeps the targets of the requests."""

    def __init__(self) -> None:
        self.targets: list[str] = []
        self.port = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            self.targets.append(line.decode().split(" ")[1])
            while (await reader.readline()).strip():
                pass
            writer.write(NOTHING)
            await writer.drain()
        writer.close()


@pytest.fixture
async def listener(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Listener]:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    found = Listener()
    server = await asyncio.start_server(found.answer, LOOPBACK, 0)
    found.port = server.sockets[0].getsockname()[1]
    yield found
    server.close()
    await server.wait_closed()


async def ask(host: str) -> None:
    """One question to each service of an account whose services are at `host`."""
    endpoints = f"TableEndpoint=http://{host}/docs1;BlobEndpoint=http://{host}/docs1"
    address = StorageAddress(connection_string=f"DefaultEndpointsProtocol=http;{ACCOUNT}{endpoints}")
    connections = Connections(address, BusAddress())
    try:
        assert await Table(connections, "jobs").get("a", "b") is None
        assert await Blobs(connections).info("results/a") is None
    finally:
        await connections.aclose()


async def test_without_a_proxy_no_request_costs_a_thread(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread would look for a proxy, and into .netrc, each time."""
    used: list[object] = []
    loop = asyncio.get_running_loop()
    real = loop.run_in_executor

    def run(executor: object, work: object, *given: object) -> object:
        used.append(work)
        return real(executor, work, *given)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(loop, "run_in_executor", run)
    await ask(f"{LOOPBACK}:{listener.port}")
    assert len(listener.targets) == 2
    assert all(target.startswith("/docs1") for target in listener.targets)
    assert used == []


async def test_a_proxy_that_the_system_names_is_used(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://{LOOPBACK}:{listener.port}")
    await ask("storage.example")
    assert len(listener.targets) == 2
    assert all(target.startswith("http://storage.example/docs1") for target in listener.targets)
