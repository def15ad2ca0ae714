"""The messages of the work: what is in them, what is read from them, and what becomes of them."""

from __future__ import annotations

from devhost.amqp.encoder import encode
from devhost.amqp.message import RawMessage, Section, build
from devhost.amqp.outcomes import (
    Accepted,
    DeliveryState,
    Error,
    Modified,
    Rejected,
    describe_error,
)
from devhost.amqp.types import Described, Symbol, Timestamp, ULong
from tests.broker.kills.ledger import MAX_DELIVERIES, Found, State

ABANDON = Modified(delivery_failed=True)
DEFER = Modified(delivery_failed=True, undeliverable_here=True)
DEAD_LETTER = Rejected(describe_error(Error("com.microsoft:dead-letter", "said", {"DeadLetterReason": "r"})))
_STATES = {0: State.ACTIVE, 1: State.DEFERRED, 2: State.SCHEDULED}


def becomes(state: DeliveryState, at: State, failed: int) -> tuple[State, int]:
    """Where a settlement brings a message, and its count of failed deliveries then."""
    if state == Accepted():
        return State.ABSENT, failed
    if state == ABANDON:
        return (State.DEAD if failed + 1 >= MAX_DELIVERIES else at), failed + 1
    if state == DEFER:
        return State.DEFERRED, failed + 1
    return State.DEAD, failed


def encoded(number: int, filler: bytes, scheduled: Timestamp | None = None) -> bytes:
    """A message that says its number, and is of some size."""
    annotations = b""
    if scheduled is not None:
        content = {Symbol("x-opt-scheduled-enqueue-time"): scheduled}
        annotations = encode(Described(ULong(Section.MESSAGE_ANNOTATIONS), content))
    return annotations + build(value=f"{number} {filler.decode()}")


def number_of(message: RawMessage) -> int:
    """The number in a message."""
    return int(str(message.value()).split()[0])


def sequence_of(message: RawMessage) -> int:
    """Its sequence number."""
    found = message.map(Section.MESSAGE_ANNOTATIONS)["x-opt-sequence-number"]
    assert isinstance(found, int)
    return int(found)


def count_of(message: RawMessage) -> int:
    """How many deliveries of it failed."""
    found = message.field(Section.HEADER, 4)
    assert isinstance(found, int)
    return int(found)


def read_found(message: RawMessage, state: State | None) -> Found:
    """A peeked message; `state` for those of a dead-letter queue."""
    told = message.map(Section.MESSAGE_ANNOTATIONS).get("x-opt-message-state", 0)
    assert isinstance(told, int)
    return Found(number_of(message), state or _STATES[told], sequence_of(message), count_of(message))


def renewed(body: dict[object, object]) -> None:
    """A lock was extended."""
    assert body["expirations"]
