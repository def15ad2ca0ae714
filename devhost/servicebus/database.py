"""The database file: opening it for one process, its tables, and what its faults are called."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from devhost.servicebus.model import DiskFullError, QueueRef, StorageFaultError

FILE_NAME = "broker.sqlite3"
SCHEMA_VERSION = 1
_APPLICATION_ID = 0x41_48_42_4B
_WRITE_FAULTS = (sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_TRUNCATE, sqlite3.SQLITE_IOERR_FSYNC)
_CHECKED_BYTES = 64 * 1024 * 1024

# Bodies stand apart, so that locking or moving a message does not rewrite them. The partial indexes answer
# "next in line", "due next" and "whose lock" without passing over the other messages.
_SCHEMA = """
CREATE TABLE entity (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, sub TEXT NOT NULL, next_sequence INTEGER NOT NULL DEFAULT 1,
    retired INTEGER NOT NULL DEFAULT 0, UNIQUE (key, sub));
CREATE TABLE body (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE message (
    id INTEGER PRIMARY KEY, entity INTEGER NOT NULL, sequence INTEGER NOT NULL, submitted_as INTEGER NOT NULL,
    message_id BLOB, ttl_ms INTEGER, enqueued_at REAL NOT NULL, expires_at REAL, state INTEGER NOT NULL,
    delivery_count INTEGER NOT NULL, token BLOB, locked_until REAL, due REAL,
    dead_reason TEXT, dead_description TEXT, dead_source TEXT, UNIQUE (entity, sequence));
CREATE INDEX message_ready ON message (entity, sequence) WHERE state = 0 AND token IS NULL;
CREATE INDEX message_due ON message (due) WHERE due IS NOT NULL;
CREATE UNIQUE INDEX message_token ON message (token) WHERE token IS NOT NULL;
CREATE TABLE history (entity INTEGER NOT NULL, key BLOB NOT NULL, sequence INTEGER NOT NULL, at REAL NOT NULL,
    UNIQUE (entity, key));
CREATE INDEX history_at ON history (entity, at);
"""


def open_database(data_dir: Path) -> sqlite3.Connection:
    """Opens or creates the database and locks it for this process until it ends (however it ends).

    Raises ``StorageFaultError`` if it is in use, damaged, of another version, or cannot be written.
    """
    path = data_dir / FILE_NAME
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=2.0)
    except OSError as error:
        raise StorageFaultError(
            f"{path} cannot be opened ({error}): choose another data folder, or see that this one is a "
            "folder that this user may write to."
        ) from error
    except sqlite3.Error as error:
        raise fault(error, path) from error
    try:
        _prepare(connection, path)
    except sqlite3.Error as error:
        connection.close()
        raise fault(error, path) from error
    except StorageFaultError:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA cache_size = -16384")
    connection.execute("PRAGMA journal_size_limit = 67108864")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("BEGIN EXCLUSIVE")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    if version == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    elif (version, application) != (SCHEMA_VERSION, _APPLICATION_ID):
        raise StorageFaultError(
            f"{path} is not a broker database of version {SCHEMA_VERSION} (found version {version}): "
            "move it away, or choose another data folder."
        )
    connection.execute("COMMIT")
    if path.stat().st_size <= _CHECKED_BYTES:
        _check(connection, path)


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Finds damage before a message is met by it. What is too large to be read at each start is not read."""
    found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise StorageFaultError(_damaged(path, " ".join(found.split())))


def _damaged(path: Path, reason: object) -> str:
    return f"{path} is damaged ({reason}): move it away with its -wal file, or restore a copy of both."


def register(connection: sqlite3.Connection, refs: Iterable[QueueRef]) -> dict[QueueRef, int]:
    """Gives every configured queue its number. Queues no longer configured keep their messages, at rest."""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("CREATE TEMP TABLE IF NOT EXISTS configured (id INTEGER PRIMARY KEY)")
    ids = {ref: _number(connection, ref) for ref in refs}
    connection.executemany(
        "INSERT OR IGNORE INTO configured VALUES (?)", [(number,) for number in ids.values()]
    )
    connection.execute("UPDATE entity SET retired = 1 WHERE id NOT IN (SELECT id FROM configured)")
    connection.execute(
        "UPDATE message SET due = NULL WHERE due IS NOT NULL AND entity NOT IN (SELECT id FROM configured)"
    )
    back = connection.execute(
        "SELECT id FROM entity WHERE retired = 1 AND id IN (SELECT id FROM configured)"
    ).fetchall()
    connection.executemany(
        "UPDATE message SET due = CASE WHEN locked_until IS NOT NULL THEN locked_until"
        " WHEN state = 2 THEN enqueued_at WHEN state = 0 THEN expires_at END WHERE entity = ?",
        back,
    )
    connection.executemany("UPDATE entity SET retired = 0 WHERE id = ?", back)
    connection.execute("COMMIT")
    return ids


def _number(connection: sqlite3.Connection, ref: QueueRef) -> int:
    key = (ref.name.lower(), ref.sub.value)
    connection.execute("INSERT OR IGNORE INTO entity (key, sub) VALUES (?, ?)", key)
    number: int = connection.execute("SELECT id FROM entity WHERE key = ? AND sub = ?", key).fetchone()[0]
    return number


def fault(error: sqlite3.Error, path: Path) -> StorageFaultError:
    """The fault as a sentence that says what to do."""
    code = getattr(error, "sqlite_errorcode", 0)
    match code & 0xFF:
        case sqlite3.SQLITE_FULL:
            return DiskFullError(f"The disk is full: free some space for {path}. Nothing was stored.")
        case sqlite3.SQLITE_IOERR if code in _WRITE_FAULTS:
            return DiskFullError(
                f"{path} cannot be written ({error}): it meets a quota or size limit, or the disk fails. "
                "Nothing was stored."
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            text = f"{path} is in use by another process: stop that broker, or choose another data folder."
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            text = _damaged(path, error)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            text = (
                f"{path} cannot be opened for writing ({error}): let this user read and write it and its "
                "folder, or choose another data folder."
            )
        case _:
            text = f"{path} cannot be read or written ({error}). Nothing was stored."
    return StorageFaultError(text)
