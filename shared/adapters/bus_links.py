"""Opening and closing links to the queue, so that a broker that is gone leaves no socket behind."""

import asyncio
import contextlib
from typing import Any

from azure.core.exceptions import AzureError
from azure.servicebus.aio import ServiceBusSender

from shared.adapters.connections import Connections

_CLOSE_SECONDS = 2.0


def new_link(connections: Connections, queue: str) -> ServiceBusSender:
    """A sender that is not open yet; it opens at its first send."""
    return _aborting(connections.service_bus().get_queue_sender(queue))


class Closing:
    """Closes links beside the work, because closing may wait for a broker that is gone."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def close(self, link: ServiceBusSender) -> None:
        task = asyncio.create_task(_close(link))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        """Wait for what is being closed; bounded."""
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)


async def _close(link: ServiceBusSender) -> None:
    with contextlib.suppress(AzureError, OSError, ValueError):
        async with asyncio.timeout(_CLOSE_SECONDS):
            await link.close()


def _aborting(link: ServiceBusSender) -> ServiceBusSender:
    """The link, made to end its socket whenever the SDK closes its connection.

    azure-servicebus 7.15 skips the transport when the closing handshake fails (`Connection.close` sets the
    state END, and `_disconnect` then returns early), which leaves an open socket for each failed attempt.
    Without the internals looked for here, this changes nothing.
    """
    inner: Any = link
    close_handler = getattr(inner, "_close_handler", None)
    if close_handler is None:
        return link

    async def close_and_abort() -> None:
        connection = getattr(getattr(inner, "_handler", None), "_connection", None)
        transport = getattr(connection, "_transport", None)
        try:
            await close_handler()
        finally:
            writer = getattr(transport, "writer", None)
            if writer is not None:
                writer.transport.abort()

    inner._close_handler = close_and_abort  # noqa: SLF001  the one place where the SDK lets go of its socket
    return link
