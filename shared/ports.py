"""What the application needs of the outside, in its own words. Adapters and fakes keep one contract.

Every port method raises StorageUnavailable or QueueUnavailable (never an SDK's error) when the other side
does not answer in time; each call is bounded in time by its adapter.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from shared.jobs import Job
from shared.messages import JobMessage


class Clock(Protocol):
    def now(self) -> datetime:
        """The present time, aware UTC."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class Randomness(Protocol):
    def fraction(self) -> float:
        """Uniform in [0, 1): for jitter."""
        ...

    def token(self) -> str:
        """Unguessable and unique, URL-safe: for leases and message suffixes."""
        ...


class RowKind(StrEnum):
    """The rows that lie beside a job's row, in its partition."""

    TIMELINE = "timeline"
    ATTEMPT = "attempt"
    DECISION = "decision"
    INPUT = "input"
    EFFECT = "effect"
    OUTBOX = "outbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row beside the job: `data` is JSON-able, `content` raw bytes (up to 48 KiB).

    A row that was read has a `version`, for `replace_row`.
    """

    kind: RowKind
    key: str  # unique within the kind; rows come back in its order
    data: Mapping[str, Any] = field(default_factory=dict)
    content: bytes | None = None
    version: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A job as it was read: `version` guards the next commit, `read_at` is the storage's own time."""

    job: Job
    version: str
    read_at: datetime


class JobStore(Protocol):
    async def insert(self, job: Job, rows: Sequence[Row]) -> bool:
        """Insert the job and its rows in one batch; False when the job exists already (nothing changes).

        A repeat of this very insert whose answer was lost returns True.
        """
        ...

    async def load(self, job_id: str) -> Snapshot | None: ...

    async def commit(self, snapshot: Snapshot, job: Job, rows: Sequence[Row] = ()) -> Snapshot:
        """Replace the job and add rows in one batch, if the job is still as in `snapshot`.

        Raises Conflict when it changed (also when this commit's own answer was lost and it was applied:
        re-read to tell).
        """
        ...

    async def add_row(self, job_id: str, row: Row) -> None:
        """Write a row without touching the job (the same key overwrites)."""
        ...

    async def replace_row(self, job_id: str, row: Row, version: str) -> str | None:
        """Write a row that is still as it was read with `version`; the version that it has then.

        None when it is gone or was written otherwise: nothing changes. One that holds exactly this already
        counts as written, because the answer may have been lost.
        """
        ...

    async def rows(self, job_id: str, kind: RowKind) -> list[Row]: ...

    async def row(self, job_id: str, kind: RowKind, key: str) -> Row | None: ...

    async def delete_row(self, job_id: str, kind: RowKind, key: str) -> None:
        """Delete if present."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenEntry:
    """One row of the open index. Times are the storage's own."""

    job_id: str
    release: int
    written_at: datetime
    version: str
    nudges: int = 0
    nudged_at: datetime | None = None


class OpenIndex(Protocol):
    async def put(self, job_id: str, release: int) -> None:
        """Upsert; keeps nothing of an earlier row."""
        ...

    async def remove(self, job_id: str, release: int, *, version: str | None = None) -> None:
        """Delete if present; with `version` only if unchanged since (otherwise nothing happens)."""
        ...

    def entries(self) -> AsyncIterator[OpenEntry]:
        """Every open row, page by page, in no order."""
        ...

    async def note_nudge(self, entry: OpenEntry, at: datetime) -> None:
        """Count a nudge on the row, if it is still there."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobInfo:
    ref: str
    size: int
    content_type: str | None


class Pieces(Protocol):
    """Content that is made in pieces each time it is read, so that it is never in memory as a whole."""

    @property
    def size(self) -> int: ...

    def __iter__(self) -> Iterator[bytes]: ...


class BlobStore(Protocol):
    """Blobs by `container/path`."""

    async def put_if_absent(self, ref: str, content: bytes | Pieces, content_type: str) -> bool:
        """False when a blob of that name exists already; its content stays."""
        ...

    async def info(self, ref: str) -> BlobInfo | None: ...

    async def read(self, ref: str, *, max_bytes: int) -> bytes | None:
        """The content, or None when there is none. Raises ValueError when larger than `max_bytes`."""
        ...

    async def delete_below(self, folder: str) -> None:
        """Delete every blob whose name begins with `folder`, a `container/path/` that ends with a slash."""
        ...


class MessageBus(Protocol):
    async def send(
        self, message: JobMessage, *, at: datetime | None = None, suffix: str | None = None
    ) -> None:
        """Confirmed by the broker on return. `at` delays it until then.

        Without `suffix` the message id is the turn's own, so that a repeat is dropped by duplicate
        detection; a nudge passes a unique `suffix`, or it would be dropped itself.
        """
        ...

    async def send_raw(
        self, body: bytes, properties: Mapping[str, str | int], *, message_id: str, at: datetime | None
    ) -> None:
        """A message kept as it is: one that this version cannot read yet."""
        ...

    async def check(self) -> None:
        """Return if the queue can be reached; else raise QueueUnavailable."""
        ...


class Telemetry(Protocol):
    def count(self, name: str, **labels: str) -> None:
        """Add one to a counter. Labels come from small fixed sets: never ids or personal data."""
        ...

    def observe(self, name: str, value: float, **labels: str) -> None: ...


class AccessPolicy(Protocol):
    def may_read(self, source: str, user_id: str | None, ref: str) -> bool:
        """Whether a job of this source and user may read the document `ref`."""
        ...
