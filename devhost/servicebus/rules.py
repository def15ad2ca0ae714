"""What happens to a message, as pure decisions: given the message, its queue's policy, an event and the time.

The rules follow Azure Service Bus: "message transfers, locks, and settlement", "dead-letter queues", "message
expiration", "message deferral" and "message sequencing" in its documentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from devhost.servicebus.model import (
    Abandon,
    Complete,
    DeadLetter,
    Defer,
    Disposition,
    LockLostError,
    MessageState,
    NotAllowedError,
    QueuePolicy,
    Release,
    SubQueue,
)

MAX_DELIVERY_REASON = "MaxDeliveryCountExceeded"
EXPIRED_REASON = "TTLExpiredException"
EXPIRED_DESCRIPTION = "The message expired and was dead lettered."


@dataclass(frozen=True, slots=True)
class Held:
    """What the rules need to know of a stored message."""

    state: MessageState
    delivery_count: int
    enqueued_at: float
    ttl_ms: int | None
    expires_at: float | None
    locked_until: float | None


@dataclass(frozen=True, slots=True)
class Admission:
    """How a new message begins."""

    state: MessageState
    enqueued_at: float
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class Remove:
    """The message goes, for good."""


@dataclass(frozen=True, slots=True)
class Keep:
    """The message stays in its place, unlocked."""

    state: MessageState
    delivery_count: int


@dataclass(frozen=True, slots=True)
class Activate:
    """A scheduled message joins the end of the queue, under a new sequence number."""

    enqueued_at: float
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class ToDeadLetter:
    """The message moves to the dead-letter queue, where no time to live is observed."""

    delivery_count: int
    reason: str | None
    description: str | None


Outcome = Remove | Keep | Activate | ToDeadLetter


def expiry(ttl_ms: int | None, enqueued_at: float, policy: QueuePolicy) -> float | None:
    """When the message expires: the shorter of its own and the queue's time to live, or never."""
    limits = [ttl for ttl in (ttl_ms, policy.default_ttl_ms) if ttl is not None]
    return enqueued_at + min(limits) / 1000 if limits else None


def admit(ttl_ms: int | None, scheduled_for: float | None, policy: QueuePolicy, now: float) -> Admission:
    """A message scheduled for later waits; its time to live starts when it becomes active."""
    if scheduled_for is not None and scheduled_for > now:
        return Admission(MessageState.SCHEDULED, scheduled_for, None)
    return Admission(MessageState.ACTIVE, now, expiry(ttl_ms, now, policy))


def next_due(held: Held) -> float | None:
    """When time next changes the message. A locked one stays with its holder; a deferred one waits."""
    if held.locked_until is not None:
        return held.locked_until
    match held.state:
        case MessageState.ACTIVE:
            return held.expires_at
        case MessageState.SCHEDULED:
            return held.enqueued_at
        case MessageState.DEFERRED:
            return None
        case _:
            assert_never(held.state)


def on_time(held: Held, policy: QueuePolicy, sub: SubQueue, now: float) -> Outcome | None:
    """What time has done to the message, or None if nothing is due yet."""
    due = next_due(held)
    if due is None or due > now:
        return None
    if held.locked_until is not None:
        return _give_back(held, policy, sub, now, counted=True)
    if held.state is MessageState.SCHEDULED:
        return Activate(now, expiry(held.ttl_ms, now, policy))
    return _expire(held, policy)


def on_settle(
    held: Held, policy: QueuePolicy, sub: SubQueue, disposition: Disposition, now: float
) -> Outcome:
    """What the holder's settlement does. Raises ``LockLostError`` and ``NotAllowedError``."""
    if held.locked_until is None or held.locked_until <= now:
        raise LockLostError("The lock supplied is invalid: it has expired, or the message was settled.")
    match disposition:
        case Complete():
            return Remove()
        case Abandon():
            return _give_back(held, policy, sub, now, counted=True)
        case Release():
            return _give_back(held, policy, sub, now, counted=False)
        case Defer():
            return Keep(MessageState.DEFERRED, held.delivery_count + 1)
        case DeadLetter(reason, description):
            if sub is SubQueue.DEADLETTER:
                raise NotAllowedError("A message in a dead-letter queue cannot be dead-lettered again.")
            return ToDeadLetter(held.delivery_count, reason, description)
        case _:
            assert_never(disposition)


def on_fetch(held: Held, policy: QueuePolicy, now: float) -> Outcome | None:
    """A deferred message is asked for: None if it may be had; an expired one goes only now."""
    if held.expires_at is not None and held.expires_at <= now:
        return _expire(held, policy)
    return None


def _give_back(held: Held, policy: QueuePolicy, sub: SubQueue, now: float, *, counted: bool) -> Outcome:
    count = held.delivery_count + counted
    if counted and sub is SubQueue.MAIN and count >= policy.max_delivery_count:
        # Before expiry: what failed too often is kept even where expired messages are dropped.
        text = f"Message could not be consumed after {count} delivery attempts."
        return ToDeadLetter(count, MAX_DELIVERY_REASON, text)
    if held.state is MessageState.ACTIVE and held.expires_at is not None and held.expires_at <= now:
        return _expire(held, policy, count)
    return Keep(held.state, count)


def _expire(held: Held, policy: QueuePolicy, count: int | None = None) -> Outcome:
    if not policy.dead_letter_on_expiration:
        return Remove()
    kept = held.delivery_count if count is None else count
    return ToDeadLetter(kept, EXPIRED_REASON, EXPIRED_DESCRIPTION)
