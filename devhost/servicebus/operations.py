"""The engine's operations, each run by the writer inside a transaction: rows and rules in, changes out."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from devhost.servicebus.entities import Entity
from devhost.servicebus.model import (
    DeadLetterInfo,
    Disposition,
    Incoming,
    Locked,
    LockLostError,
    MessageNotFoundError,
    MessageState,
    NotAllowedError,
    QueueCounts,
    ReceiveMode,
    Release,
    Stored,
    SubQueue,
)
from devhost.servicebus.rules import (
    Activate,
    Keep,
    Outcome,
    Remove,
    ToDeadLetter,
    admit,
    on_fetch,
    on_settle,
    on_time,
)
from devhost.servicebus.store import Row, Store, encode_id

MAX_BYTES = 4 * 1024 * 1024
_FORGET_AT_LEAST = 16
_ROW_BYTES = 512


@dataclass(slots=True)
class Session:
    """What an operation works with: the rows, the time, and the queues by number."""

    store: Store
    now: float
    entities: Mapping[int, Entity]
    new_token: Callable[[], uuid.UUID]
    available: set[int] = field(default_factory=set)
    """Numbers of the queues in which messages became available."""


def enqueue(session: Session, entity: Entity, messages: Sequence[Incoming]) -> list[int]:
    """Stores the messages in order; a duplicate gets its original's number."""
    if entity.ref.sub is SubQueue.DEADLETTER:
        raise NotAllowedError("Messages cannot be sent to a dead-letter queue.")
    _forget(session, entity, len(messages))
    return [_enqueue_one(session, entity, message) for message in messages]


def _enqueue_one(session: Session, entity: Entity, message: Incoming) -> int:
    store, now = session.store, session.now
    key, window = encode_id(message.message_id), entity.policy.duplicate_window_seconds
    if key is not None and window is not None:
        known = store.remembered(entity.id, key, now - window)
        if known is not None:
            return known
    sequence = store.take_sequences(entity.id, 1)
    admission = admit(message.ttl_ms, message.scheduled_for, entity.policy, now)
    store.insert(entity.id, sequence, message.body, key, message.ttl_ms, admission)
    if key is not None and window is not None:
        store.remember(entity.id, key, sequence, now)
    if admission.state is MessageState.ACTIVE:
        session.available.add(entity.id)
    return sequence


def _forget(session: Session, entity: Entity, incoming: int) -> None:
    window = entity.policy.duplicate_window_seconds
    if window is not None:
        # Twice what comes in: the history shrinks to its window, at a bounded cost per send.
        session.store.forget(entity.id, session.now - window, 2 * incoming + _FORGET_AT_LEAST)


def schedule(session: Session, entity: Entity, messages: Sequence[Incoming]) -> list[int]:
    if any(message.scheduled_for is None for message in messages):
        raise NotAllowedError("A message to be scheduled has no scheduled enqueue time.")
    return enqueue(session, entity, messages)


def cancel_scheduled(session: Session, entity: Entity, sequences: Sequence[int]) -> None:
    rows = [session.store.by_sequence(entity.id, sequence) for sequence in dict.fromkeys(sequences)]
    found = [row for row in rows if row is not None and row.state == MessageState.SCHEDULED]
    if len(found) < len(rows):
        raise MessageNotFoundError("A scheduled message with this sequence number was not found.")
    session.store.delete([row.id for row in found])


def receive(session: Session, entity: Entity, limit: int, mode: ReceiveMode) -> list[Locked] | list[Stored]:
    rows = _within(session.store.ready(entity.id, session.now, limit), MAX_BYTES)
    return _hand_out(session, entity, rows, mode)


def receive_deferred(
    session: Session, entity: Entity, sequences: Sequence[int], mode: ReceiveMode
) -> list[Locked] | list[Stored] | None:
    """None if one is not there to be had; expired ones have then left all the same."""
    rows = [session.store.by_sequence(entity.id, sequence) for sequence in dict.fromkeys(sequences)]
    fit: list[Row] = []
    for row in rows:
        if row is None or row.state != MessageState.DEFERRED or row.token is not None:
            continue
        outcome = on_fetch(row.held(), entity.policy, session.now)
        if outcome is None:
            fit.append(row)
        else:
            apply(session, entity, row, outcome)
    return _hand_out(session, entity, fit, mode) if len(fit) == len(rows) else None


def settle(session: Session, entity: Entity, token: uuid.UUID, disposition: Disposition) -> None:
    row = _locked(session, entity, token)
    apply(
        session, entity, row, on_settle(row.held(), entity.policy, entity.ref.sub, disposition, session.now)
    )


def release(session: Session, entity: Entity, tokens: Sequence[uuid.UUID]) -> None:
    """Gives back, uncounted, those locks that still hold."""
    for token in tokens:
        with contextlib.suppress(LockLostError):
            settle(session, entity, token, Release())


def renew(session: Session, entity: Entity, tokens: Sequence[uuid.UUID]) -> list[float]:
    rows = [_locked(session, entity, token) for token in tokens]
    until = round(session.now + entity.policy.lock_seconds, 3)
    session.store.lock([(row.id, token) for row, token in zip(rows, tokens, strict=True)], until)
    return [until for _ in rows]


def peek(session: Session, entity: Entity, from_sequence: int, count: int, max_bytes: int) -> list[Stored]:
    rows = session.store.from_sequence(entity.id, from_sequence, count)
    return [row.stored() for row in _within(rows, max_bytes)]


def counts(session: Session, entity: Entity) -> QueueCounts:
    here = session.store.counts(entity.id)
    dead = 0
    if entity.dead_letters != entity.id:
        dead = sum(session.store.counts(entity.dead_letters).values())
    return QueueCounts(
        active=here.get((MessageState.ACTIVE, False), 0),
        locked=sum(number for (_, locked), number in here.items() if locked),
        deferred=here.get((MessageState.DEFERRED, False), 0),
        scheduled=here.get((MessageState.SCHEDULED, False), 0),
        dead_lettered=dead,
    )


def advance(session: Session, limit: int) -> int:
    """Does what is due, at most ``limit`` messages; how many it did."""
    rows = session.store.due(session.now, limit)
    for row in rows:
        entity = session.entities[row.entity]
        outcome = on_time(row.held(), entity.policy, entity.ref.sub, session.now)
        if outcome is not None:
            apply(session, entity, row, outcome)
    return len(rows)


def apply(session: Session, entity: Entity, row: Row, outcome: Outcome) -> None:
    """Writes what the rules decided."""
    store = session.store
    match outcome:
        case Remove():
            store.delete([row.id])
        case Keep(state, count):
            store.keep(row, state, count)
            if state is MessageState.ACTIVE:
                session.available.add(entity.id)
        case Activate(enqueued_at, expires_at):
            store.activate(row, store.take_sequences(entity.id, 1), enqueued_at, expires_at)
            session.available.add(entity.id)
        case ToDeadLetter(count, reason, description):
            sequence = store.take_sequences(entity.dead_letters, 1)
            info = DeadLetterInfo(reason, description, entity.ref.address)
            store.move_to_dead_letters(row, entity.dead_letters, sequence, count, info)
            session.available.add(entity.dead_letters)
        case _:
            assert_never(outcome)


def _locked(session: Session, entity: Entity, token: uuid.UUID) -> Row:
    row = session.store.by_token(entity.id, token)
    if row is None or row.locked_until is None or row.locked_until <= session.now:
        raise LockLostError("The lock supplied is invalid: it has expired, or the message was settled.")
    return row


def _hand_out(
    session: Session, entity: Entity, rows: list[Row], mode: ReceiveMode
) -> list[Locked] | list[Stored]:
    if mode is ReceiveMode.RECEIVE_AND_DELETE:
        session.store.delete([row.id for row in rows])
        return [row.stored() for row in rows]
    until = round(session.now + entity.policy.lock_seconds, 3)
    tokens = [session.new_token() for _ in rows]
    session.store.lock([(row.id, token) for row, token in zip(rows, tokens, strict=True)], until)
    return [Locked(row.stored(), token, until) for row, token in zip(rows, tokens, strict=True)]


def _within(rows: Iterator[Row], max_bytes: int) -> list[Row]:
    """The first rows that fit in memory of that size, at least one."""
    taken: list[Row] = []
    total = 0
    for row in rows:
        total += len(row.body) + _ROW_BYTES
        if taken and total > max_bytes:
            break
        taken.append(row)
    return taken
