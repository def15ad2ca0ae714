"""A broker in the test's own process, on a real socket: its parts can be made to fail."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from devhost.servicebus.broker import Broker
from devhost.servicebus.engine import Engine
from devhost.servicebus.model import QueuePolicy
from devhost.servicebus.sas import SharedKey
from devhost.servicebus.server import connection_string, listen, port_of
from tests.broker.raw import Peer, peer_at

POLICIES = [QueuePolicy("q", lock_seconds=30, max_delivery_count=3)]


@dataclass
class Served:
    """It serves the queue `q`."""

    broker: Broker
    engine: Engine
    port: int

    @property
    def connection_string(self) -> str:
        return connection_string("127.0.0.1", self.port, self.broker.key)

    @asynccontextmanager
    async def peer(self) -> AsyncIterator[Peer]:
        """A bare client that may use everything."""
        async with peer_at(self.port) as peer:
            await peer.login()
            await peer.authorize("")
            yield peer


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[Served]:
    """A broker for the time of the block."""
    engine = Engine(POLICIES, folder)
    await engine.start()
    broker = Broker(engine, SharedKey("RootManageSharedAccessKey", "SAS_KEY_VALUE"))
    server = await listen(broker, "127.0.0.1", 0)
    try:
        yield Served(broker, engine, port_of(server))
    finally:
        server.close()
        await broker.stop()
        await engine.stop()
