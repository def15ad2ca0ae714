"""What dead letters need of the outside: the list of cases, the groups of failures, and where alerts go.

The stores raise StorageUnavailable when storage does not answer in time; each call is bounded by its adapter.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from shared.jobs import Category


class CaseState(StrEnum):
    OPEN = "open"
    CLOSED = "closed"
    RESUBMITTED = "resubmitted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A dead job (or an unreadable message, `job_id` = `msg_{sequence number}`) in front of a person."""

    job_id: str
    release: int
    state: CaseState
    category: Category
    code: str
    message: str
    task_type: str
    source: str
    fingerprint: str
    attempts: int
    dead_at: datetime
    input_ref: str | None = None
    operator: str | None = None
    reason: str | None = None
    decided_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFilter:
    state: CaseState = CaseState.OPEN
    category: Category | None = None
    task_type: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePage:
    cases: tuple[Case, ...]
    cursor: str | None  # opaque; None on the last page


class CaseStore(Protocol):
    """The list of cases, newest first, by state: a projection of the jobs' rows."""

    async def file(self, case: Case) -> bool:
        """Put an open case, if this (job_id, release) has none in any state; False if it had."""
        ...

    async def get(self, job_id: str, release: int | None = None) -> Case | None:
        """The case of that release, or of the latest."""
        ...

    async def decide(self, case: Case) -> None:
        """Move the case to its decided state (idempotent); of decisions for one state the first is kept."""
        ...

    async def page(self, wanted: CaseFilter, *, limit: int, cursor: str | None) -> CasePage:
        """Up to `limit` cases, newest first. Raises ValueError for a cursor that is none of ours."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """All failures of one kind; `count` counts each (job, release) once."""

    fingerprint: str
    task_type: str
    code: str
    category: Category
    count: int
    first_seen: datetime
    alerted: bool


class GroupStore(Protocol):
    async def add(self, case: Case) -> Group:
        """Count the case in its group, exactly once however often it is called."""
        ...

    async def mark_alerted(self, fingerprint: str) -> None: ...

    async def unalerted(self) -> list[Group]:
        """Groups whose alert is not confirmed yet; cost follows their number, not the table's size."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """What people are told when a kind of failure first appears. Nothing private."""

    fingerprint: str
    task_type: str
    code: str
    category: Category
    count: int
    link: str | None


class AlertSink(Protocol):
    async def notify(self, alert: Alert) -> None:
        """Deliver, or raise TransientError; telling twice is better than not telling."""
        ...
