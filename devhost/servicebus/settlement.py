"""What a receiver says about a delivery, applied to the queue and answered.

The answer comes after the commit, settled, and carries the outcome that was asked for; a rejection that asks
for dead-lettering is answered by one without error, since an error would mean that it failed.
"""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devhost.amqp.errors import InvalidField
from devhost.amqp.outcomes import Accepted, DeliveryState, Modified, Received, Rejected, Released, read_error
from devhost.amqp.performatives import SENDER
from devhost.servicebus.faults import fault_of, unexpected
from devhost.servicebus.model import Abandon, BrokerError, Complete, DeadLetter, Defer, Disposition, Release

if TYPE_CHECKING:
    from devhost.servicebus.outgoing import EntityReceiver
    from devhost.servicebus.session import Session

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message on its way: the link it went out on, and its lock."""

    link: EntityReceiver
    token: uuid.UUID


def settle(
    session: Session, delivery_id: int, delivery: Delivery, state: DeliveryState | None, *, settled: bool
) -> None:
    """Act on the peer's word about one delivery. Settled without outcome: the lock is left to run out.

    Nothing said after the link's detach counts: the SDK does not wait for the answer, and asks `$management`.
    """
    if delivery.link.detached:
        session.forget(delivery_id)
        return
    if state is None or isinstance(state, Received):
        if settled:
            session.forget(delivery_id)
        return
    session.forget(delivery_id)
    if isinstance(state, Released):
        delivery.link.rest()
    session.connection.spawn(_apply(session, delivery_id, delivery, state, settled=settled))


async def _apply(
    session: Session, delivery_id: int, delivery: Delivery, state: DeliveryState, *, settled: bool
) -> None:
    answer: DeliveryState = Rejected() if isinstance(state, Rejected) else state
    try:
        await session.broker.engine.settle(delivery.link.queue, delivery.token, disposition_of(state))
    except BrokerError as error:
        answer = Rejected(fault_of(error).describe())
    except Exception:
        log.exception("settling a message of %s failed", delivery.link.queue.address)
        answer = Rejected(unexpected().describe())
    if not settled:
        session.send_outcome(delivery_id, answer, role=SENDER)


def disposition_of(state: DeliveryState) -> Disposition:
    """The engine's word for an outcome.

    https://learn.microsoft.com/azure/service-bus-messaging/service-bus-amqp-protocol-guide
    """
    match state:
        case Accepted():
            return Complete()
        case Modified(undeliverable_here=True):
            return Defer()
        case Modified(delivery_failed=True):
            return Abandon()
        case Rejected():
            return _dead_letter(state)
        case _:
            return Release()


def _dead_letter(state: Rejected) -> DeadLetter:
    try:
        error = read_error(state.error)
    except InvalidField:
        error = None
    if error is None:
        return DeadLetter()
    info = error.info or {}
    reason, description = info.get("DeadLetterReason"), info.get("DeadLetterErrorDescription")
    return DeadLetter(
        reason if isinstance(reason, str) else None,
        description if isinstance(description, str) else error.description,
    )
