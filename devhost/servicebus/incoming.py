"""Links on which the peer sends: messages to a queue, or requests to a node."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from devhost.amqp.errors import AmqpError
from devhost.amqp.message import RawMessage, split
from devhost.amqp.outcomes import Accepted, DeliveryState, Rejected
from devhost.amqp.performatives import Attach, Flow, Transfer
from devhost.servicebus.envelope import MAX_MESSAGE_SIZE, read_transfer, too_large
from devhost.servicebus.faults import DECODE_ERROR, NOT_ALLOWED, FaultError, fault_of, unexpected
from devhost.servicebus.model import BrokerError, Incoming, QueueRef

if TYPE_CHECKING:
    from devhost.servicebus.replies import ReplyLink
    from devhost.servicebus.session import Session

log = logging.getLogger(__name__)
_CREDIT = 2000
_MAX_GROUP = 500
MAX_REQUEST_SIZE = 4 * 1024 * 1024
"""Bytes of a request; one that schedules messages holds all of them."""

_UINT = 0xFFFFFFFF


@dataclass(slots=True)
class _Partial:
    """A delivery whose last frame has not come yet."""

    delivery_id: int
    message_format: int
    settled: bool = False
    size: int = 0
    parts: list[bytes] = field(default_factory=list)


class IncomingLink(ABC):
    """Puts deliveries together and keeps the peer in credit.

    Delivery-ids are taken as they come: the Python SDK repeats and reorders them when used concurrently.
    """

    max_message_size = MAX_REQUEST_SIZE

    def __init__(self, session: Session, attach: Attach) -> None:
        self._session = session
        self._handle = attach.handle
        self._count = attach.initial_delivery_count or 0
        self._credit = _CREDIT
        self._partial: _Partial | None = None

    def start(self) -> None:
        """Give the first credit."""
        self._send_flow()

    def on_flow(self, flow: Flow) -> None:
        """The peer reports its state."""
        if flow.echo:
            self._send_flow()

    def on_transfer(self, transfer: Transfer, payload: bytes) -> None:
        """One frame of a delivery."""
        partial = self._partial
        if partial is None:
            partial = self._partial = _Partial(transfer.delivery_id or 0, transfer.message_format or 0)
        partial.settled = partial.settled or bool(transfer.settled)
        partial.size += len(payload)
        if partial.size <= self.max_message_size:
            partial.parts.append(payload)
        if transfer.aborted:
            self._partial = None
        elif not transfer.more:
            self._partial = None
            self._complete(partial)

    def on_detached(self) -> None:
        """The link is gone; what came whole before is still dealt with."""
        self._partial = None

    def settle(self, delivery_id: int, state: DeliveryState, *, settled: bool) -> None:
        """Answer a delivery, unless the peer settled it itself."""
        if not settled:
            self._session.send_outcome(delivery_id, state)

    def reject(self, delivery_id: int, fault: FaultError, *, settled: bool) -> None:
        """Answer a delivery with an error."""
        self.settle(delivery_id, Rejected(fault.describe()), settled=settled)

    def _complete(self, delivery: _Partial) -> None:
        self._count = (self._count + 1) & _UINT
        self._credit -= 1
        if self._credit <= _CREDIT // 2:
            self._credit = _CREDIT
            self._send_flow()
        if delivery.size > self.max_message_size:
            self.reject(delivery.delivery_id, too_large(delivery.size), settled=delivery.settled)
        else:
            self.on_message(
                delivery.delivery_id,
                b"".join(delivery.parts),
                delivery.message_format,
                settled=delivery.settled,
            )

    @abstractmethod
    def on_message(self, delivery_id: int, payload: bytes, message_format: int, /, *, settled: bool) -> None:
        """A whole delivery came."""

    def _send_flow(self) -> None:
        self._session.send_flow(handle=self._handle, delivery_count=self._count, link_credit=self._credit)


@dataclass(frozen=True, slots=True)
class _Arrived:
    delivery_id: int
    settled: bool
    messages: list[Incoming]
    size: int


class EntitySender(IncomingLink):
    """Stores what the peer sends to a queue, and accepts it only then.

    Deliveries that come while a commit runs are stored together in the next.
    """

    max_message_size = MAX_MESSAGE_SIZE

    def __init__(self, session: Session, attach: Attach, queue: QueueRef) -> None:
        super().__init__(session, attach)
        self._queue = queue
        self._arrived: deque[_Arrived] = deque()
        self._storing = False

    def on_message(self, delivery_id: int, payload: bytes, message_format: int, *, settled: bool) -> None:
        """Read it and line it up."""
        try:
            messages = read_transfer(payload, message_format)
        except FaultError as fault:
            self.reject(delivery_id, fault, settled=settled)
            return
        self._session.connection.pressure.hold(len(payload))
        self._arrived.append(_Arrived(delivery_id, settled, messages, len(payload)))
        if not self._storing:
            self._storing = True
            self._session.connection.spawn(self._store())

    async def _store(self) -> None:
        try:
            while self._arrived:
                group = [self._arrived.popleft() for _ in range(min(len(self._arrived), _MAX_GROUP))]
                await self._store_group(group)
        finally:
            self._storing = False

    async def _store_group(self, group: list[_Arrived]) -> None:
        fault: FaultError | None = None
        try:
            await self._session.broker.engine.enqueue(
                self._queue, [message for arrived in group for message in arrived.messages]
            )
        except BrokerError as error:
            fault = fault_of(error)
        except Exception:
            log.exception("storing messages of %s failed", self._queue.address)
            fault = unexpected()
        finally:
            self._session.connection.pressure.let_go(sum(arrived.size for arrived in group))
        for arrived in group:
            if fault is None:
                self.settle(arrived.delivery_id, Accepted(), settled=arrived.settled)
            else:
                self.reject(arrived.delivery_id, fault, settled=arrived.settled)


class RequestLink(IncomingLink):
    """Hands requests to a node and its answers to the peer's link from that node.

    One bad request never detaches the link: the SDK would fail every other request on it.
    """

    def __init__(
        self, session: Session, attach: Attach, node: str, answer: Callable[[RawMessage], Awaitable[bytes]]
    ) -> None:
        super().__init__(session, attach)
        self._node = node
        self._answer = answer

    def on_message(self, delivery_id: int, payload: bytes, _message_format: int, /, *, settled: bool) -> None:
        """Accept the request; its answer follows as a message."""
        try:
            request = split(payload)
            request.check()
        except AmqpError as error:
            self.reject(
                delivery_id,
                FaultError(DECODE_ERROR, f"The request cannot be read: {error}."),
                settled=settled,
            )
            return
        connection = self._session.connection
        link = connection.reply_links.get(self._node)
        if link is None:
            missing = FaultError(NOT_ALLOWED, f"Attach a link from {self._node} for the answers first.")
            self.reject(delivery_id, missing, settled=settled)
            return
        self.settle(delivery_id, Accepted(), settled=settled)
        connection.pressure.hold(len(payload))
        connection.spawn(self._respond(link, request, len(payload)))

    async def _respond(self, link: ReplyLink, request: RawMessage, size: int) -> None:
        """Nothing is done that could not be answered."""
        pressure = self._session.connection.pressure
        try:
            if not await link.turn():
                return
            async with pressure.turns:
                await pressure.wait_writable()
                reply = await self._answer(request)
        finally:
            pressure.let_go(size)
        link.reply(reply)
