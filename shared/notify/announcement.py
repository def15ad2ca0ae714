"""What is said of a job's end, and how far the saying came."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any


class OutboxState(StrEnum):
    """How far an announcement came."""

    OWED = "owed"
    DELIVERED = "delivered"
    GIVEN_UP = "given_up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """What is said of one release. `attempts` failed, the last with `code`; the next is at `due_at`.

    `status` is the HTTP status of the last answer, where one came. `put_offs` counts how often there was no
    room at a busy receiver. While one posts it, it is `posting_by` that one until then, and nobody else does.
    """

    webhook_id: str
    kind: str  # `job.succeeded` or `job.dead`
    release: int
    happened_at: datetime
    data: Mapping[str, Any]
    due_at: datetime
    state: OutboxState = OutboxState.OWED
    attempts: int = 0
    put_offs: int = 0
    code: str | None = None
    status: int | None = None
    posting_by: str | None = None
    posting_until: datetime | None = None

    def body(self) -> bytes:
        """The same bytes at every attempt."""
        at = self.happened_at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        document = {"type": self.kind, "timestamp": at, "data": dict(self.data)}
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
