"""The statements of the queue engine on its database: rows in, rows out, no decisions."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from devhost.servicebus.model import DeadLetterInfo, MessageId, MessageState, Stored
from devhost.servicebus.rules import Admission, Held, next_due

_COLUMNS = (
    "m.id, m.entity, m.sequence, m.submitted_as, m.message_id, m.ttl_ms, m.enqueued_at, m.expires_at,"
    " m.state, m.delivery_count, m.token, m.locked_until, m.dead_reason, m.dead_description, m.dead_source"
)
_WITH_BODY = f"SELECT {_COLUMNS}, b.data FROM message m JOIN body b ON b.id = m.id"  # noqa: S608 - constants only
_WITHOUT_BODY = f"SELECT {_COLUMNS}, x'' FROM message m"  # noqa: S608 - constants only


class Row(NamedTuple):
    id: int
    entity: int
    sequence: int
    submitted_as: int
    message_id: bytes | None
    ttl_ms: int | None
    enqueued_at: float
    expires_at: float | None
    state: int
    delivery_count: int
    token: bytes | None
    locked_until: float | None
    dead_reason: str | None
    dead_description: str | None
    dead_source: str | None
    body: bytes = b""

    def held(self) -> Held:
        return Held(
            MessageState(self.state),
            self.delivery_count,
            self.enqueued_at,
            self.ttl_ms,
            self.expires_at,
            self.locked_until,
        )

    def stored(self) -> Stored:
        dead = None
        if self.dead_source is not None:
            dead = DeadLetterInfo(self.dead_reason, self.dead_description, self.dead_source)
        return Stored(
            self.sequence,
            self.submitted_as,
            decode_id(self.message_id),
            self.body,
            self.ttl_ms,
            self.enqueued_at,
            self.delivery_count,
            MessageState(self.state),
            dead,
        )


def encode_id(message_id: MessageId | None) -> bytes | None:
    """A message-id with its type, so that ids of different types never meet."""
    match message_id:
        case None:
            return None
        case str():
            return b"s" + message_id.encode("utf-8", "surrogatepass")
        case uuid.UUID():
            return b"u" + message_id.bytes
        case bytes():
            return b"b" + message_id
        case int():
            return b"i%d" % message_id


def decode_id(encoded: bytes | None) -> MessageId | None:
    if encoded is None:
        return None
    kind, rest = encoded[:1], encoded[1:]
    match kind:
        case b"s":
            return rest.decode("utf-8", "surrogatepass")
        case b"u":
            return uuid.UUID(bytes=rest)
        case b"b":
            return rest
        case _:
            return int(rest)


class Store:
    """The rows of one connection. Used by the writer's thread alone, inside its transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def take_sequences(self, entity: int, count: int) -> int:
        """The first of ``count`` new sequence numbers (never given again, gap-free)."""
        query = "SELECT next_sequence FROM entity WHERE id = ?"
        first: int = self._db.execute(query, (entity,)).fetchone()[0]
        self._db.execute("UPDATE entity SET next_sequence = ? WHERE id = ?", (first + count, entity))
        return first

    def insert(
        self,
        entity: int,
        sequence: int,
        body: bytes,
        message_id: bytes | None,
        ttl_ms: int | None,
        new: Admission,
    ) -> None:
        number = self._db.execute("INSERT INTO body (data) VALUES (?)", (body,)).lastrowid
        due = next_due(Held(new.state, 0, new.enqueued_at, ttl_ms, new.expires_at, None))
        self._db.execute(
            "INSERT INTO message (id, entity, sequence, submitted_as, message_id, ttl_ms, enqueued_at,"
            " expires_at, state, delivery_count, due) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)",
            (
                number,
                entity,
                sequence,
                sequence,
                message_id,
                ttl_ms,
                new.enqueued_at,
                new.expires_at,
                int(new.state),
                due,
            ),
        )

    def ready(self, entity: int, now: float, limit: int) -> Iterator[Row]:
        """Active, unlocked, unexpired messages with their bodies, in sequence order."""
        query = (
            f"{_WITH_BODY} WHERE m.entity = ? AND m.state = 0 AND m.token IS NULL"
            " AND (m.expires_at IS NULL OR m.expires_at > ?) ORDER BY m.sequence LIMIT ?"
        )
        return map(Row._make, self._db.execute(query, (entity, now, limit)))

    def from_sequence(self, entity: int, sequence: int, limit: int) -> Iterator[Row]:
        """Messages of every state with their bodies, from that number on."""
        query = f"{_WITH_BODY} WHERE m.entity = ? AND m.sequence >= ? ORDER BY m.sequence LIMIT ?"
        return map(Row._make, self._db.execute(query, (entity, sequence, limit)))

    def by_sequence(self, entity: int, sequence: int) -> Row | None:
        query = f"{_WITH_BODY} WHERE m.entity = ? AND m.sequence = ?"
        found = self._db.execute(query, (entity, sequence)).fetchone()
        return Row._make(found) if found else None

    def by_token(self, entity: int, token: uuid.UUID) -> Row | None:
        query = f"{_WITHOUT_BODY} WHERE m.token = ? AND m.entity = ?"
        found = self._db.execute(query, (token.bytes, entity)).fetchone()
        return Row._make(found) if found else None

    def due(self, now: float, limit: int) -> list[Row]:
        query = f"{_WITHOUT_BODY} WHERE m.due <= ? ORDER BY m.due, m.sequence LIMIT ?"
        return list(map(Row._make, self._db.execute(query, (now, limit))))

    def next_due(self) -> float | None:
        query = "SELECT due FROM message WHERE due IS NOT NULL ORDER BY due LIMIT 1"
        found = self._db.execute(query).fetchone()
        return found[0] if found else None

    def lock(self, locks: Iterable[tuple[int, uuid.UUID]], until: float) -> None:
        self._db.executemany(
            "UPDATE message SET token = ?, locked_until = ?, due = ? WHERE id = ?",
            [(token.bytes, until, until, number) for number, token in locks],
        )

    def keep(self, row: Row, state: MessageState, delivery_count: int) -> None:
        """Unlocks a message in its place."""
        held = Held(state, delivery_count, row.enqueued_at, row.ttl_ms, row.expires_at, None)
        self._db.execute(
            "UPDATE message SET state = ?, delivery_count = ?, token = NULL, locked_until = NULL, due = ?"
            " WHERE id = ?",
            (int(state), delivery_count, next_due(held), row.id),
        )

    def activate(self, row: Row, sequence: int, enqueued_at: float, expires_at: float | None) -> None:
        self._db.execute(
            "UPDATE message SET sequence = ?, state = 0, enqueued_at = ?, expires_at = ?, due = ?"
            " WHERE id = ?",
            (sequence, enqueued_at, expires_at, expires_at, row.id),
        )

    def move_to_dead_letters(
        self, row: Row, entity: int, sequence: int, delivery_count: int, info: DeadLetterInfo
    ) -> None:
        self._db.execute(
            "UPDATE message SET entity = ?, sequence = ?, state = 0, delivery_count = ?, expires_at = NULL,"
            " token = NULL, locked_until = NULL, due = NULL, dead_reason = ?, dead_description = ?,"
            " dead_source = ? WHERE id = ?",
            (entity, sequence, delivery_count, info.reason, info.description, info.source, row.id),
        )

    def delete(self, numbers: Sequence[int]) -> None:
        ids = [(number,) for number in numbers]
        self._db.executemany("DELETE FROM message WHERE id = ?", ids)
        self._db.executemany("DELETE FROM body WHERE id = ?", ids)

    def counts(self, entity: int) -> dict[tuple[MessageState, bool], int]:
        """How many messages by state and whether locked."""
        query = "SELECT state, token IS NOT NULL, COUNT(*) FROM message WHERE entity = ? GROUP BY 1, 2"
        return {(MessageState(s), bool(locked)): n for s, locked, n in self._db.execute(query, (entity,))}

    def remembered(self, entity: int, key: bytes, since: float) -> int | None:
        """The sequence number given to this message-id after ``since``."""
        query = "SELECT sequence FROM history WHERE entity = ? AND key = ? AND at > ?"
        found = self._db.execute(query, (entity, key, since)).fetchone()
        return found[0] if found else None

    def remember(self, entity: int, key: bytes, sequence: int, at: float) -> None:
        self._db.execute("INSERT OR REPLACE INTO history VALUES (?, ?, ?, ?)", (entity, key, sequence, at))

    def forget(self, entity: int, until: float, limit: int) -> None:
        self._db.execute(
            "DELETE FROM history WHERE rowid IN"
            " (SELECT rowid FROM history WHERE entity = ? AND at <= ? ORDER BY at LIMIT ?)",
            (entity, until, limit),
        )
