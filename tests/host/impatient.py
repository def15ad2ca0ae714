"""A host that renews locks five times a second instead of at the half of their time, and tells of each.

Loaded by `--plugin tests.host.impatient`.
"""

import asyncio
import sys

from azure.servicebus import ServiceBusReceivedMessage

from devhost.functions import service_bus_link
from devhost.functions.service_bus_link import QueueLink

_SECONDS = 0.2


def install() -> None:
    """Change the links of this process."""
    comes_within, renew = service_bus_link._comes_within, QueueLink._renew

    async def comes_soon(event: asyncio.Event, seconds: float) -> bool:
        return await comes_within(event, min(seconds, _SECONDS))

    async def renew_and_tell(
        link: QueueLink, message: ServiceBusReceivedMessage, done: asyncio.Event, seconds: float
    ) -> None:
        await renew(link, message, done, seconds)
        locked_until = message.locked_until_utc
        assert locked_until is not None
        print(f"LOCKED until={locked_until.timestamp()}", file=sys.stderr, flush=True)

    service_bus_link._comes_within = comes_soon
    QueueLink._renew = renew_and_tell  # type: ignore[method-assign, assignment]  # a plugin of tests
