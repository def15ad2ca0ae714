"""One link to the queue: sends groups of messages, bounded in time, and opens anew what broke.

The SDK's senders are not safe for concurrent use (its README, "Thread safety"), so each has one user at a
time. A link that was idle for ten minutes is closed by the service and fails at its next use; so a failed
send is repeated once on a new link. Message ids make the repeat harmless under duplicate detection.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from azure.core.exceptions import AzureError, ClientAuthenticationError
from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import ServiceBusSender
from azure.servicebus.exceptions import (
    MessageSizeExceededError,
    MessagingEntityDisabledError,
    MessagingEntityNotFoundError,
    ServiceBusAuthenticationError,
    ServiceBusAuthorizationError,
)

from shared.adapters.bus_links import Closing, new_link
from shared.adapters.coalescing import Outcomes
from shared.adapters.connections import Connections
from shared.errors import PermanentError, QueueUnavailable

logger = logging.getLogger("afterhook.bus")
_ATTEMPTS = 2
_ATTEMPT_SECONDS = 4.5
_REFUSALS = (
    ClientAuthenticationError,
    MessagingEntityDisabledError,
    MessagingEntityNotFoundError,
    ServiceBusAuthenticationError,
    ServiceBusAuthorizationError,
)


class MessageTooLarge(PermanentError):
    """A message is larger than the queue takes."""

    code: ClassVar[str] = "message_too_large"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A message to be sent: `at` delays it."""

    body: bytes
    properties: Mapping[str, str | int]
    message_id: str
    at: datetime | None = None


class BusSender:
    def __init__(self, connections: Connections, queue: str) -> None:
        self._connections = connections
        self._queue = queue
        self._sender: ServiceBusSender | None = None
        self._closing = Closing()
        self._refusal_told = False

    async def send(self, group: Sequence[Outgoing]) -> Outcomes:
        """Send the group as one batch, or in halves when it is too large for one.

        Raises QueueUnavailable, which leaves open what arrived.
        """
        try:
            await self._attempts(group)
        except MessageSizeExceededError:
            if len(group) == 1:
                return [MessageTooLarge("The message is larger than the queue takes.")]
            middle = len(group) // 2
            return await self.send(group[:middle]) + await self.send(group[middle:])
        return [None] * len(group)

    async def open(self) -> None:
        """Open a link of its own and close it again: that the queue is there and lets us in."""
        link = new_link(self._connections, self._queue)
        try:
            async with asyncio.timeout(_ATTEMPT_SECONDS):
                await link.create_message_batch()  # asks the open link for its limits
        except (AzureError, OSError, ValueError) as error:
            raise self._unavailable(error) from None
        finally:
            self._closing.close(link)

    async def aclose(self) -> None:
        self._drop()
        await self._closing.aclose()

    async def _attempts(self, group: Sequence[Outgoing]) -> None:
        left = _ATTEMPTS
        while True:
            left -= 1
            try:
                async with asyncio.timeout(_ATTEMPT_SECONDS):
                    return await self._send_once(group)
            except MessageSizeExceededError:
                raise
            except (AzureError, OSError, ValueError) as error:
                self._drop()
                if left == 0 or _refused(error):
                    raise self._unavailable(error) from None
            except BaseException:  # cancelled in the middle of a send: the link's state is unknown
                self._drop()
                raise

    async def _send_once(self, group: Sequence[Outgoing]) -> None:
        if self._sender is None:
            self._sender = new_link(self._connections, self._queue)
        messages = [_message(outgoing) for outgoing in group]
        await self._sender.send_messages(
            messages[0] if len(messages) == 1 else messages, timeout=_ATTEMPT_SECONDS
        )

    def _drop(self) -> None:
        """Forget the link: the next send opens another."""
        sender, self._sender = self._sender, None
        if sender is not None:
            self._closing.close(sender)

    def _unavailable(self, error: Exception) -> QueueUnavailable:
        if _refused(error) and not self._refusal_told:
            self._refusal_told = True
            logger.error(
                "The message bus refuses this app (%s): check that the queue of JOBS_QUEUE exists, the "
                "ServiceBusConnection settings, and with a managed identity its role assignments.",
                type(error).__name__,
            )
        return QueueUnavailable("The message bus did not take the message in time.")


def _refused(error: Exception) -> bool:
    """Whether the answer was clear and would be the same again: our own configuration is wrong."""
    return isinstance(error, _REFUSALS)


def _message(outgoing: Outgoing) -> ServiceBusMessage:
    properties: dict[Any, Any] = dict(outgoing.properties)  # the SDK's type is wider than ours
    return ServiceBusMessage(
        outgoing.body,
        content_type="application/json",
        message_id=outgoing.message_id,
        application_properties=properties,
        scheduled_enqueue_time_utc=outgoing.at,
    )
