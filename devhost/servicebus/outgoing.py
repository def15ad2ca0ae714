"""Links on which the broker sends, and those among them that send messages of a queue."""

from __future__ import annotations

import asyncio
import logging
import uuid
from typing import TYPE_CHECKING

from devhost.amqp.errors import AmqpError
from devhost.amqp.performatives import Attach, Flow
from devhost.servicebus.dispatch import QueueDispatcher, release
from devhost.servicebus.envelope import write_locked, write_plain
from devhost.servicebus.model import Locked, QueueRef, ReceiveMode, Stored

if TYPE_CHECKING:
    from devhost.servicebus.session import Session

log = logging.getLogger(__name__)
_UINT = 0xFFFFFFFF
_SIGN = 1 << 31
SETTLED = 1
"""snd-settle-mode of a receiver that wants messages settled: receive and delete."""

_REST_AFTER_RELEASE = 1.0


class OutgoingLink:
    """Credit as the peer grants it."""

    def __init__(self, session: Session, attach: Attach) -> None:
        self._session = session
        self.handle = attach.handle
        self._count = 0
        self._credit = 0
        self._drain = False
        self.detached = False

    def start(self) -> None:
        """The link is attached."""

    def on_flow(self, flow: Flow) -> None:
        """The peer grants or takes back credit; the SDK's own counting may leave it below zero."""
        if flow.link_credit is not None:
            credit = ((flow.delivery_count or 0) + flow.link_credit - self._count) & _UINT
            self._credit = credit - (1 << 32) if credit >= _SIGN else credit
        self._drain = flow.drain
        if flow.echo:
            self._send_flow()
        if self._drain and self._credit <= 0:
            self._drained()
        self.on_credit()

    def on_credit(self) -> None:
        """Credit changed."""

    def on_detached(self) -> None:
        """The link is gone."""
        self.detached = True

    def _spend(self) -> None:
        self._count = (self._count + 1) & _UINT
        self._credit -= 1

    def _drained(self) -> None:
        """Nothing more to send: use up the credit, as a drain asks."""
        self._count = (self._count + max(self._credit, 0)) & _UINT
        self._credit = 0
        self._send_flow()
        self._drain = False

    def _send_flow(self) -> None:
        self._session.send_flow(
            handle=self.handle,
            delivery_count=self._count,
            link_credit=max(self._credit, 0),
            available=0,
            drain=self._drain,
        )


class EntityReceiver(OutgoingLink):
    """Sends a queue's messages, under locks or already deleted."""

    def __init__(self, session: Session, attach: Attach, queue: QueueRef) -> None:
        super().__init__(session, attach)
        self.queue = queue
        self.mode = (
            ReceiveMode.RECEIVE_AND_DELETE if attach.snd_settle_mode == SETTLED else ReceiveMode.PEEK_LOCK
        )
        self._resting_until = 0.0

    @property
    def _dispatcher(self) -> QueueDispatcher:
        return self._session.broker.dispatcher(self.queue)

    def start(self) -> None:
        """Take part in the queue's sharing."""
        self._dispatcher.add(self)

    def wants(self) -> int:
        """How many messages may be written now."""
        if self.detached or not self._session.can_send:
            return 0
        if self._resting_until > asyncio.get_running_loop().time():
            return 0
        return max(self._credit, 0)

    def deliver_locked(self, locked: Locked) -> None:
        """Write a message under a lock; its delivery-tag is the lock token as .NET writes a GUID."""
        try:
            payload = write_locked(locked)
        except AmqpError:  # unreachable for what was checked on arrival; the message must not block the queue
            log.exception(
                "message %d of %s cannot be written", locked.message.sequence_number, self.queue.address
            )
            return
        self._spend()
        self._session.send_locked(self, locked, payload)

    def deliver_plain(self, stored: Stored) -> None:
        """Write a message that is no longer stored."""
        self._spend()
        self._session.send_settled(self.handle, write_plain(stored), uuid.uuid4().bytes_le)

    def nothing_left(self) -> None:
        """The queue is empty for now."""
        if self._drain:
            self._drained()

    def rest(self) -> None:
        """The peer gave a message back unseen: nobody reads there now.

        Leave the message to others for a while, or until the peer asks again.
        """
        loop = asyncio.get_running_loop()
        self._resting_until = loop.time() + _REST_AFTER_RELEASE
        loop.call_later(_REST_AFTER_RELEASE, self._dispatcher.wake)

    def on_credit(self) -> None:
        """Ask for messages."""
        self._resting_until = 0.0
        if self._credit > 0:
            self._dispatcher.wake()

    def on_detached(self) -> None:
        """Locks of what was written stay until they end; what was not written is released."""
        super().on_detached()
        self._dispatcher.remove(self)
        broker = self._session.broker
        for locked in self._session.outbox.discard(self.handle):
            broker.spawn(release(broker.engine, self.queue, locked))
