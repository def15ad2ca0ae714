"""The operations of a queue's `$management` node."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeGuard

from devhost.amqp.types import Array, Long, Timestamp
from devhost.servicebus.engine import Engine
from devhost.servicebus.envelope import (
    MAX_MESSAGE_SIZE,
    milliseconds,
    read_message,
    too_large,
    write_locked,
    write_plain,
)
from devhost.servicebus.faults import ARGUMENT_ERROR, FaultError
from devhost.servicebus.model import (
    Abandon,
    Complete,
    DeadLetter,
    Defer,
    Disposition,
    Incoming,
    QueueRef,
    ReceiveMode,
)

Body = Mapping[object, object]
Operation = Callable[[Engine, QueueRef, Body], Awaitable[Body]]
_MAX_PEEK = 1000
_MAX_PEEK_BYTES = MAX_MESSAGE_SIZE
_MAX_AT_ONCE = 2000


async def peek(engine: Engine, queue: QueueRef, body: Body) -> Body:
    """Messages of every state, from a sequence number on; fewer than asked if they would be large."""
    start, count = _whole(body, "from-sequence-number"), _whole(body, "message-count")
    found = (
        await engine.peek(queue, start, min(count, _MAX_PEEK), max_bytes=_MAX_PEEK_BYTES) if count > 0 else []
    )
    return {"messages": [{"message": write_plain(stored)} for stored in found]}


async def renew_lock(engine: Engine, queue: QueueRef, body: Body) -> Body:
    """New ends of the locks, all or none."""
    ends = await engine.renew(queue, _tokens(body))
    return {"expirations": Array(Timestamp, tuple(milliseconds(end) for end in ends))}


async def schedule(engine: Engine, queue: QueueRef, body: Body) -> Body:
    """Store messages for later; their numbers serve to cancel them."""
    entries = _items(body, "messages")
    numbers = await engine.schedule(queue, [_scheduled(entry) for entry in entries])
    return {"sequence-numbers": Array(Long, tuple(Long(number) for number in numbers))}


async def cancel_scheduled(engine: Engine, queue: QueueRef, body: Body) -> Body:
    """Remove scheduled messages, all or none."""
    await engine.cancel_scheduled(queue, _numbers(body))
    return {}


async def receive_by_sequence_number(engine: Engine, queue: QueueRef, body: Body) -> Body:
    """Deferred messages, all or none, under locks or already deleted."""
    numbers = _numbers(body)
    if _whole(body, "receiver-settle-mode") == 0:
        deleted = await engine.receive_deferred(queue, numbers, ReceiveMode.RECEIVE_AND_DELETE)
        return {"messages": [{"message": write_plain(stored)} for stored in deleted]}
    found = await engine.receive_deferred(queue, numbers, ReceiveMode.PEEK_LOCK)
    return {"messages": [{"message": write_locked(locked), "lock-token": locked.token} for locked in found]}


async def update_disposition(engine: Engine, queue: QueueRef, body: Body) -> Body:
    """Settle locks, whichever connection they were taken on."""
    disposition = _disposition(body)
    results = await asyncio.gather(
        *(engine.settle(queue, token, disposition) for token in _tokens(body)), return_exceptions=True
    )
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return {}


OPERATIONS: dict[str, Operation] = {
    "com.microsoft:peek-message": peek,
    "com.microsoft:renew-lock": renew_lock,
    "com.microsoft:schedule-message": schedule,
    "com.microsoft:cancel-scheduled-message": cancel_scheduled,
    "com.microsoft:receive-by-sequence-number": receive_by_sequence_number,
    "com.microsoft:update-disposition": update_disposition,
}


def _disposition(body: Body) -> Disposition:
    match body.get("disposition-status"):
        case "completed":
            return Complete()
        case "abandoned":
            return Abandon()
        case "defered" | "deferred":  # the service's own spelling, and the dictionary's
            return Defer()
        case "suspended":
            return DeadLetter(_text(body, "deadletter-reason"), _text(body, "deadletter-description"))
        case _:
            raise FaultError(
                ARGUMENT_ERROR, "disposition-status must be completed, abandoned, defered or suspended."
            )


def _scheduled(entry: object) -> Incoming:
    encoded = entry.get("message") if isinstance(entry, dict) else None
    if not isinstance(encoded, bytes):
        raise FaultError(ARGUMENT_ERROR, "Each entry of messages must be a map with a binary message.")
    if len(encoded) > MAX_MESSAGE_SIZE:
        raise too_large(len(encoded))
    message = read_message(encoded)
    if message.scheduled_for is None:
        raise FaultError(ARGUMENT_ERROR, "A message to schedule must carry x-opt-scheduled-enqueue-time.")
    return message


def _items(body: Body, name: str) -> list[Any]:
    value = body.get(name)
    items = list(value.items) if isinstance(value, Array) else value
    if not isinstance(items, list) or not items:
        raise FaultError(ARGUMENT_ERROR, f"{name} must be a list or array that is not empty.")
    if len(items) > _MAX_AT_ONCE:
        raise FaultError(ARGUMENT_ERROR, f"{name} may hold {_MAX_AT_ONCE} entries, not {len(items)}.")
    return items


def _tokens(body: Body) -> list[uuid.UUID]:
    tokens = _items(body, "lock-tokens")
    if not all(isinstance(token, uuid.UUID) for token in tokens):
        raise FaultError(ARGUMENT_ERROR, "lock-tokens must be uuids.")
    return tokens


def _numbers(body: Body) -> list[int]:
    numbers = _items(body, "sequence-numbers")
    if not all(_is_long(number) for number in numbers):
        raise FaultError(ARGUMENT_ERROR, "sequence-numbers must be longs.")
    return [int(number) for number in numbers]


def _whole(body: Body, name: str) -> int:
    value = body.get(name)
    if not _is_long(value):
        raise FaultError(ARGUMENT_ERROR, f"{name} must be a whole number of 64 bits.")
    return int(value)


def _is_long(value: object) -> TypeGuard[int]:
    """A ulong of the other half would fit no number that the database has."""
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63


def _text(body: Body, name: str) -> str | None:
    value = body.get(name)
    return value if isinstance(value, str) else None
