"""The broker's domain types: messages as the queue engine keeps them, locks, dispositions, and errors.

Times are epoch seconds (float, whole milliseconds); durations say their unit.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from enum import IntEnum, StrEnum

MessageId = str | uuid.UUID | bytes | int
"""A message-id as it came on the wire (AMQP 1.0, 3.2.11-14: string, uuid, binary or ulong)."""


class SubQueue(StrEnum):
    """Which part of a queue: its messages, or its dead letters."""

    MAIN = "main"
    DEADLETTER = "deadletter"


class MessageState(IntEnum):
    """As in the annotation ``x-opt-message-state``."""

    ACTIVE = 0
    DEFERRED = 1
    SCHEDULED = 2


class ReceiveMode(StrEnum):
    PEEK_LOCK = "peek_lock"
    RECEIVE_AND_DELETE = "receive_and_delete"


@dataclass(frozen=True, slots=True)
class QueueRef:
    """A queue or its dead-letter queue, as ``Engine.resolve`` gives it (name as configured)."""

    name: str
    sub: SubQueue = SubQueue.MAIN

    @property
    def address(self) -> str:
        return self.name if self.sub is SubQueue.MAIN else f"{self.name}/$deadletterqueue"


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """What a queue does with its messages. None as a time to live means for ever."""

    name: str
    lock_seconds: float = 60.0
    max_delivery_count: int = 10
    default_ttl_ms: int | None = None
    dead_letter_on_expiration: bool = False
    duplicate_window_seconds: float | None = None
    """None: duplicates are not looked for."""


@dataclass(frozen=True, slots=True)
class DeadLetterInfo:
    """Why a message was dead-lettered. ``source`` is the address of the queue it came from."""

    reason: str | None
    description: str | None
    source: str


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message to be stored. ``message_id`` None is never taken for a duplicate."""

    body: bytes
    message_id: MessageId | None = None
    ttl_ms: int | None = None
    scheduled_for: float | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """A message as the engine keeps it."""

    sequence_number: int
    enqueue_sequence_number: int
    """The number given at submission; the sequence number changes at activation and dead-lettering."""
    message_id: MessageId | None
    body: bytes
    """The raw encoded AMQP message sections, untouched."""
    ttl_ms: int | None
    """header.ttl as sent."""
    enqueued_at: float
    """For scheduled messages the time of activation (planned, then real)."""
    delivery_count: int
    """Counted failures so far: 0 at the first delivery. It is kept on the way to the dead-letter queue."""
    state: MessageState
    dead_letter: DeadLetterInfo | None
    """Only in a dead-letter queue."""


@dataclass(frozen=True, slots=True)
class Locked:
    """A message delivered under a lock."""

    message: Stored
    token: uuid.UUID
    locked_until: float


@dataclass(frozen=True, slots=True)
class Complete:
    """The message is done: remove it."""


@dataclass(frozen=True, slots=True)
class Abandon:
    """Give it back, counted. A deferred message stays deferred."""


@dataclass(frozen=True, slots=True)
class Release:
    """Give it back, not counted: it never reached the application."""


@dataclass(frozen=True, slots=True)
class Defer:
    """Set it aside, counted: only to be had by its sequence number."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Move it to the dead-letter queue."""

    reason: str | None = None
    description: str | None = None


Disposition = Complete | Abandon | Release | Defer | DeadLetter


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """Messages of a queue or dead-letter queue. ``active`` counts those free to be received."""

    active: int = 0
    locked: int = 0
    deferred: int = 0
    scheduled: int = 0
    dead_lettered: int = 0
    """In the queue's dead-letter queue (0 when asked of a dead-letter queue itself)."""


class BrokerError(Exception):
    """What the engine answers instead of a result. The text is fit for the peer."""


class EntityNotFoundError(BrokerError):
    """No queue of that name is configured."""


class LockLostError(BrokerError):
    """The lock is unknown, was settled, or has run out."""


class MessageNotFoundError(BrokerError):
    """No scheduled or deferred message of that sequence number; nothing was changed for the others."""


class NotAllowedError(BrokerError):
    """The queue does not allow it (sending to, or dead-lettering from, a dead-letter queue)."""


class StorageFaultError(BrokerError):
    """The change is not stored (disk full, file damaged, engine stopped): nothing of it holds."""


class DiskFullError(StorageFaultError):
    """There is no room for the change. Once there is, it may be asked for again."""


class QueueFullError(StorageFaultError):
    """There is no room for more messages; the same as the service's full queue."""
