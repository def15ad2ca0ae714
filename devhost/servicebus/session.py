"""A session: its links, its windows, and the deliveries on it that are not settled."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from devhost.amqp.outcomes import DeliveryState, Rejected, describe_state, read_state
from devhost.amqp.performatives import (
    RECEIVER,
    SENDER,
    Attach,
    Begin,
    Detach,
    Disposition,
    End,
    Flow,
    Performative,
    Transfer,
)
from devhost.servicebus.attach import accept, refusal
from devhost.servicebus.faults import (
    HANDLE_IN_USE,
    LOCK_LOST,
    NOT_ALLOWED,
    UNATTACHED_HANDLE,
    FaultError,
)
from devhost.servicebus.incoming import IncomingLink
from devhost.servicebus.model import Locked
from devhost.servicebus.outbox import Outbox
from devhost.servicebus.outgoing import EntityReceiver, OutgoingLink
from devhost.servicebus.settlement import Delivery, settle

if TYPE_CHECKING:
    from devhost.servicebus.broker import Broker
    from devhost.servicebus.connection import Connection

log = logging.getLogger(__name__)
_WINDOW = 65535
_UINT = 0xFFFFFFFF
HANDLE_MAX = 255
_MAX_UNSETTLED = 100_000


class Session:
    """Handles and the channel are the same numbers in both directions: the peer's."""

    def __init__(self, connection: Connection, channel: int, begin: Begin) -> None:
        self.connection = connection
        self.channel = channel
        self.ended = False
        self.outbox = Outbox(connection.write, channel, connection.peer_max_frame, begin.incoming_window)
        self._next_incoming_id = begin.next_outgoing_id
        self._since_flow = 0
        self._links: dict[int, IncomingLink | OutgoingLink] = {}
        self._refused: set[int] = set()
        self._unsettled: dict[int, Delivery] = {}
        self._next_delivery_id = 0
        self.send(
            Begin(
                remote_channel=channel,
                next_outgoing_id=self.outbox.next_outgoing_id,
                incoming_window=_WINDOW,
                outgoing_window=_WINDOW,
                handle_max=HANDLE_MAX,
            )
        )

    @property
    def broker(self) -> Broker:
        """What the connection belongs to."""
        return self.connection.broker

    @property
    def can_send(self) -> bool:
        """Whether a message would be written at once: window open, peer reading."""
        return not self.ended and self.outbox.open and self.connection.pressure.writable

    def send(self, performative: Performative) -> None:
        """Write a performative on this session's channel; nothing once it has ended."""
        if not self.ended:
            self.connection.send(performative, self.channel)

    def on_performative(self, performative: Performative, payload: bytes) -> None:
        """What the peer sent on this channel. Raises `FaultError` where the connection cannot go on."""
        match performative:
            case Transfer():
                self._on_transfer(performative, payload)
            case Disposition():
                self._on_disposition(performative)
            case Flow():
                self._on_flow(performative)
            case Attach():
                self._on_attach(performative)
            case Detach():
                self._on_detach(performative)
            case _:
                raise FaultError("amqp:illegal-state", "The performative has no place within a session.")

    def end(self) -> None:
        """Answer the peer's end. The broker ends none itself: the Python SDK would wait for ever."""
        self.send(End())
        self.abandon()

    def abandon(self) -> None:
        """The session is over: locks of what was written stay, the rest is released."""
        self.ended = True
        for link in self._links.values():
            link.on_detached()
        self._links.clear()
        self._unsettled.clear()

    def wake(self) -> None:
        """The peer reads again."""
        for link in self._links.values():
            if isinstance(link, EntityReceiver):
                link.on_credit()

    def _on_attach(self, attach: Attach) -> None:
        if attach.handle > HANDLE_MAX or attach.handle in self._links:
            raise FaultError(HANDLE_IN_USE, f"Handle {attach.handle} is in use or above {HANDLE_MAX}.")
        self._refused.discard(attach.handle)
        try:
            link, answer = accept(self, attach)
        except FaultError as fault:
            log.info("refused a link: %s", fault)
            self._refused.add(attach.handle)
            for performative in refusal(attach, fault):
                self.send(performative)
            return
        self._links[attach.handle] = link
        self.send(answer)
        link.start()

    def _on_detach(self, detach: Detach) -> None:
        self._refused.discard(detach.handle)
        link = self._links.pop(detach.handle, None)
        if link is not None:
            link.on_detached()
            self.send(Detach(handle=detach.handle, closed=detach.closed))

    def _on_flow(self, flow: Flow) -> None:
        self._next_incoming_id = flow.next_outgoing_id
        self.outbox.update(flow.next_incoming_id, flow.incoming_window)
        if flow.handle is None:
            if flow.echo:
                self.send_flow()
            self.wake()
        elif (link := self._link(flow.handle)) is not None:
            link.on_flow(flow)

    def _on_transfer(self, transfer: Transfer, payload: bytes) -> None:
        self._next_incoming_id = (self._next_incoming_id + 1) & _UINT
        self._since_flow += 1
        if self._since_flow >= _WINDOW // 2:
            self.send_flow()
        link = self._link(transfer.handle)
        if isinstance(link, IncomingLink):
            link.on_transfer(transfer, payload)
        elif link is not None:
            raise FaultError(NOT_ALLOWED, f"Handle {transfer.handle} receives; nothing can be sent on it.")

    def _link(self, handle: int) -> IncomingLink | OutgoingLink | None:
        link = self._links.get(handle)
        if link is None and handle not in self._refused:
            raise FaultError(UNATTACHED_HANDLE, f"No link is attached to handle {handle}.")
        return link

    def _on_disposition(self, disposition: Disposition) -> None:
        if disposition.role is SENDER:  # about the peer's own sends, which are settled here already
            return
        state = read_state(disposition.state)
        first, last = disposition.first, disposition.first if disposition.last is None else disposition.last
        if last - first < len(self._unsettled):
            found = [number for number in range(first, last + 1) if number in self._unsettled]
        else:
            found = [number for number in self._unsettled if first <= number <= last]
        for number in found:
            settle(self, number, self._unsettled[number], state, settled=disposition.settled)
        if not found and first == last and first < self._next_delivery_id and not disposition.settled:
            lost = FaultError(LOCK_LOST, "The delivery was settled before, or its lock has run out.")
            self.send_outcome(first, Rejected(lost.describe()), role=SENDER)

    def forget(self, delivery_id: int) -> None:
        """A delivery is settled."""
        self._unsettled.pop(delivery_id, None)

    def send_outcome(self, delivery_id: int, state: DeliveryState, *, role: bool = RECEIVER) -> None:
        """Settle a delivery with its outcome, as the role this side has in it."""
        self.send(
            Disposition(
                role=role, first=delivery_id, last=delivery_id, settled=True, state=describe_state(state)
            )
        )

    def send_flow(
        self,
        *,
        handle: int | None = None,
        delivery_count: int | None = None,
        link_credit: int | None = None,
        available: int | None = None,
        drain: bool = False,
    ) -> None:
        """Tell the windows, and a link's state."""
        self._since_flow = 0
        self.send(
            Flow(
                next_incoming_id=self._next_incoming_id,
                incoming_window=_WINDOW,
                next_outgoing_id=self.outbox.next_outgoing_id,
                outgoing_window=_WINDOW,
                handle=handle,
                delivery_count=delivery_count,
                link_credit=link_credit,
                available=available,
                drain=drain,
            )
        )

    def send_locked(self, link: EntityReceiver, locked: Locked, payload: bytes) -> None:
        """Write a message that the peer is to settle."""
        delivery_id = self._new_delivery_id()
        if (
            len(self._unsettled) >= _MAX_UNSETTLED
        ):  # never settled, so surely expired: only memory is at stake
            del self._unsettled[next(iter(self._unsettled))]
        self._unsettled[delivery_id] = Delivery(link, locked.token)
        self._transfer(link.handle, delivery_id, locked.token.bytes_le, payload, locked)

    def send_settled(self, handle: int, payload: bytes, tag: bytes) -> None:
        """Write a message that needs no settlement."""
        self._transfer(handle, self._new_delivery_id(), tag, payload, None)

    def _transfer(
        self, handle: int, delivery_id: int, tag: bytes, payload: bytes, locked: Locked | None
    ) -> None:
        if self.ended:
            return
        first = Transfer(
            handle=handle, delivery_id=delivery_id, delivery_tag=tag, message_format=0, settled=locked is None
        )
        self.outbox.send(first, payload, locked)

    def _new_delivery_id(self) -> int:
        number = self._next_delivery_id
        self._next_delivery_id = (number + 1) & _UINT
        return number
