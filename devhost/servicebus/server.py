"""The listening socket of a broker."""

from __future__ import annotations

import asyncio

from devhost.servicebus.broker import Broker
from devhost.servicebus.capacity import ACCEPTED_AT_ONCE
from devhost.servicebus.connection import Connection
from devhost.servicebus.sas import SharedKey

_BACKLOG = 2048  # the SDK gives up a connect after one second, so a burst must not wait in line


async def listen(broker: Broker, host: str, port: int) -> asyncio.Server:
    """Accept connections; port 0 takes a free one. Raises `OSError`."""
    loop = asyncio.get_running_loop()
    few = broker.capacity.connections is not None
    # asyncio takes as many connections in one turn as it is told may wait.
    server = await loop.create_server(
        lambda: Connection(broker), host, port, backlog=ACCEPTED_AT_ONCE if few else _BACKLOG
    )
    if few:
        for listener in server.sockets:
            with listener.dup() as same:
                same.listen(_BACKLOG)
    return server


def port_of(server: asyncio.Server) -> int:
    """The port a server listens on."""
    port: int = server.sockets[0].getsockname()[1]
    return port


def connection_string(host: str, port: int, key: SharedKey) -> str:
    """What an SDK needs to connect; the last part makes it use no TLS, as with the official emulator."""
    shown = f"[{host}]" if ":" in host else host
    return (
        f"Endpoint=sb://{shown}:{port};SharedAccessKeyName={key.name};SharedAccessKey={key.key};"
        "UseDevelopmentEmulator=true;"
    )
