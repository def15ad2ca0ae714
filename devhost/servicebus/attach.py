"""Which link an attach makes, or why it is refused.

A refusal answers with null source and target and then detaches: with termini echoed, the SDK takes the link
for open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from devhost.amqp.outcomes import source_filter, terminus_address
from devhost.amqp.performatives import SENDER, Attach, Detach, Performative
from devhost.amqp.types import Symbol, ULong
from devhost.servicebus.addresses import CbsNode, EntityNode, ManagementNode, parse_address
from devhost.servicebus.cbs import Cbs
from devhost.servicebus.faults import (
    INVALID_FIELD,
    NOT_ALLOWED,
    NOT_IMPLEMENTED,
    UNAUTHORIZED,
    FaultError,
    fault_of,
)
from devhost.servicebus.incoming import EntitySender, IncomingLink, RequestLink
from devhost.servicebus.management import Management
from devhost.servicebus.model import EntityNotFoundError, QueueRef, SubQueue
from devhost.servicebus.outgoing import EntityReceiver, OutgoingLink
from devhost.servicebus.replies import ReplyLink

if TYPE_CHECKING:
    from devhost.servicebus.session import Session

_COORDINATOR = (ULong(0x30), Symbol("amqp:coordinator:list"))
"""The target that begins transactions (OASIS AMQP 1.0 part 4, section 4.5.1)."""

_SESSION_FILTER = "com.microsoft:session-filter"


def accept(session: Session, attach: Attach) -> tuple[IncomingLink | OutgoingLink, Attach]:
    """The link and the attach that answers. Raises `FaultError`."""
    sends = attach.role is SENDER
    if attach.target is not None and attach.target.descriptor in _COORDINATOR:
        raise FaultError(
            NOT_IMPLEMENTED, "There are no transactions here: send and settle each message by itself."
        )
    address = terminus_address(attach.target if sends else attach.source)
    if not address or attach.source is None or attach.target is None:
        raise FaultError(INVALID_FIELD, "A link needs a source and a target, and the address of a queue.")
    link = _incoming(session, attach, address) if sends else _outgoing(session, attach, address)
    answer = Attach(
        name=attach.name,
        handle=attach.handle,
        role=not attach.role,
        snd_settle_mode=attach.snd_settle_mode,
        rcv_settle_mode=attach.rcv_settle_mode,
        source=attach.source,
        target=attach.target,
        initial_delivery_count=None if sends else 0,
        max_message_size=link.max_message_size if isinstance(link, IncomingLink) else None,
    )
    return link, answer


def refusal(attach: Attach, fault: FaultError) -> tuple[Performative, ...]:
    """What tells the peer that its link is refused."""
    return (
        Attach(
            name=attach.name,
            handle=attach.handle,
            role=not attach.role,
            initial_delivery_count=None if attach.role is SENDER else 0,
        ),
        Detach(handle=attach.handle, closed=True, error=fault.describe()),
    )


def _incoming(session: Session, attach: Attach, address: str) -> IncomingLink:
    match parse_address(address):
        case CbsNode():
            cbs = Cbs(session.broker.key, session.broker.clock, session.connection.grants)
            return RequestLink(session, attach, "$cbs", cbs.answer)
        case ManagementNode(path):
            queue = _entity(session, path)
            management = Management(session.broker.engine, queue)
            return RequestLink(session, attach, _management_node(queue), management.answer)
        case EntityNode(path):
            queue = _entity(session, path)
            if queue.sub is SubQueue.DEADLETTER:
                raise FaultError(
                    NOT_ALLOWED, f"Nothing can be sent to a dead-letter queue: send to {queue.name}."
                )
            return EntitySender(session, attach, queue)


def _outgoing(session: Session, attach: Attach, address: str) -> OutgoingLink:
    match parse_address(address):
        case CbsNode():
            return ReplyLink(session, attach, "$cbs")
        case ManagementNode(path):
            return ReplyLink(session, attach, _management_node(_entity(session, path)))
        case EntityNode(path):
            queue = _entity(session, path)
            if _SESSION_FILTER in source_filter(attach.source):
                raise FaultError(
                    NOT_ALLOWED,
                    f"The queue {queue.name} has no sessions: open its receiver without session_id.",
                )
            return EntityReceiver(session, attach, queue)


def _management_node(queue: QueueRef) -> str:
    return f"{queue.address}/$management"


def _entity(session: Session, path: str) -> QueueRef:
    now = session.broker.clock()
    if not any(grant.covers(path, now) for grant in session.connection.grants.values()):
        raise FaultError(UNAUTHORIZED, "No valid token for this entity was put on this connection.")
    try:
        return session.broker.engine.resolve(path)
    except EntityNotFoundError as error:
        raise fault_of(error) from error
