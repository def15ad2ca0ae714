"""Between encoded messages and the engine's: what the broker reads from one, and what it writes into one.

Annotation names and types:
https://learn.microsoft.com/azure/service-bus-messaging/service-bus-amqp-protocol-guide#message-annotations
"""

from __future__ import annotations

import uuid
from dataclasses import replace

from devhost.amqp.errors import AmqpError
from devhost.amqp.message import Section, join, merge_map, replace_field, split
from devhost.amqp.types import Int, Long, Symbol, Timestamp, UInt
from devhost.servicebus.faults import DECODE_ERROR, SIZE_EXCEEDED, FaultError
from devhost.servicebus.model import DeadLetterInfo, Incoming, Locked, MessageId, MessageState, Stored

BATCH_FORMAT = 0x80013700
MAX_MESSAGE_SIZE = 262_144
"""Bytes of a message or batch: the limit of the service's Standard tier."""

_LATEST = 253_402_300_799_999
"""Milliseconds: the end of the year 9999. No client can show what is later, and the broker not all of it."""

_UINT = 0xFFFFFFFF
_SCHEDULED = "x-opt-scheduled-enqueue-time"
_LOCK_TOKEN = "x-opt-lock-token"  # noqa: S105 - the name of an annotation
_SEQUENCE = "x-opt-sequence-number"
_ENQUEUE_SEQUENCE = "x-opt-enqueue-sequence-number"
_ENQUEUED = "x-opt-enqueued-time"
_LOCKED_UNTIL = "x-opt-locked-until"
_STATE = "x-opt-message-state"
_BROKER_OWNED = frozenset((_SEQUENCE, _ENQUEUE_SEQUENCE, _ENQUEUED, _LOCKED_UNTIL, _STATE))
_TTL_FIELD, _DELIVERY_COUNT_FIELD, _MESSAGE_ID_FIELD = 2, 4, 0


def read_transfer(payload: bytes, message_format: int) -> list[Incoming]:
    """The message of a transfer, or each message of a batch. Raises `FaultError`."""
    if len(payload) > MAX_MESSAGE_SIZE:
        raise too_large(len(payload))
    if message_format != BATCH_FORMAT:
        return [read_message(payload)]
    try:
        inner = split(payload).data()
    except AmqpError as error:
        raise FaultError(DECODE_ERROR, f"The batch cannot be read: {error}.") from error
    if not inner:
        raise FaultError(DECODE_ERROR, "The batch holds no message.")
    return [read_message(message) for message in inner]


def read_message(encoded: bytes) -> Incoming:
    """One encoded message as the engine takes it. Raises `FaultError`."""
    try:
        message = split(encoded)
        message.check()
        annotations = message.map(Section.MESSAGE_ANNOTATIONS)
        scheduled = annotations.get(_SCHEDULED)
        return Incoming(
            body=encoded,
            message_id=_message_id(message.field(Section.PROPERTIES, _MESSAGE_ID_FIELD)),
            ttl_ms=_integer(message.field(Section.HEADER, _TTL_FIELD), "header ttl"),
            scheduled_for=None if scheduled is None else _moment(scheduled),
        )
    except AmqpError as error:
        raise FaultError(DECODE_ERROR, f"The message cannot be read: {error}.") from error


def too_large(size: int) -> FaultError:
    """For a message or batch over the limit."""
    return FaultError(SIZE_EXCEEDED, f"The message has {size} bytes; {MAX_MESSAGE_SIZE} are allowed.")


def write_locked(locked: Locked) -> bytes:
    """The message for a receiver that holds its lock."""
    return _write(locked.message, token=locked.token, locked_until=locked.locked_until)


def write_plain(stored: Stored) -> bytes:
    """The message for a receiver without a lock: a peek, or a receive that deletes."""
    return _write(stored, token=None, locked_until=None)


def _write(stored: Stored, *, token: uuid.UUID | None, locked_until: float | None) -> bytes:
    message = split(stored.body)
    values = dict(message.values)
    values[Section.HEADER] = replace_field(
        values.get(Section.HEADER), _DELIVERY_COUNT_FIELD, UInt(stored.delivery_count)
    )
    values[Section.MESSAGE_ANNOTATIONS] = merge_map(
        values.get(Section.MESSAGE_ANNOTATIONS), _BROKER_OWNED, _annotations(stored, locked_until)
    )
    if token is not None or Section.DELIVERY_ANNOTATIONS in values:
        own: dict[object, object] = {} if token is None else {Symbol(_LOCK_TOKEN): token}
        values[Section.DELIVERY_ANNOTATIONS] = merge_map(
            values.get(Section.DELIVERY_ANNOTATIONS), (_LOCK_TOKEN,), own
        )
    if stored.dead_letter is not None:
        values[Section.APPLICATION_PROPERTIES] = merge_map(
            values.get(Section.APPLICATION_PROPERTIES), (), _dead_letter_properties(stored.dead_letter)
        )
    return join(replace(message, values=values))


def _annotations(stored: Stored, locked_until: float | None) -> dict[object, object]:
    found: dict[object, object] = {
        Symbol(_ENQUEUE_SEQUENCE): Long(stored.enqueue_sequence_number),
        Symbol(_ENQUEUED): milliseconds(stored.enqueued_at),
        Symbol(_SEQUENCE): Long(stored.sequence_number),
    }
    if locked_until is not None:
        found[Symbol(_LOCKED_UNTIL)] = milliseconds(locked_until)
    if stored.state is not MessageState.ACTIVE:
        found[Symbol(_STATE)] = Int(stored.state)
    return found


def _dead_letter_properties(info: DeadLetterInfo) -> dict[object, object]:
    given = {"DeadLetterReason": info.reason, "DeadLetterErrorDescription": info.description}
    return {name: text for name, text in given.items() if text is not None}


def milliseconds(moment: float) -> Timestamp:
    """Epoch seconds as an AMQP timestamp."""
    return Timestamp(round(moment * 1000))


def _message_id(value: object) -> MessageId | None:
    if value is None or isinstance(value, str | bytes | uuid.UUID):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    raise AmqpError("message-id must be a string, uuid, binary or ulong")


def _integer(value: object, name: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _UINT:
        return int(value)
    raise AmqpError(f"{name} must be an unsigned integer of 32 bits")


def _moment(value: object) -> float:
    if not isinstance(value, int) or isinstance(value, bool):
        raise AmqpError(f"{_SCHEDULED} must be a timestamp")
    if value > _LATEST:
        raise AmqpError(f"{_SCHEDULED} must not be after the year 9999")
    return int(value) / 1000
