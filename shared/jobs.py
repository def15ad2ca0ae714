"""The job: its states, the one table of transitions, and its identity.

Times are aware UTC datetimes. `release` counts an operator's resubmits (0 = as delivered), `turn` says
which message is entitled to act, `claim` is the fencing counter of the workers.
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from shared.errors import IllegalTransition

JOB_ID = re.compile(r"job_[a-z2-7]{26}")


class JobState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    RETRY_SCHEDULED = "retry_scheduled"
    AWAITING_RESULT = "awaiting_result"
    OUTCOME_UNKNOWN = "outcome_unknown"
    DEAD = "dead"
    SUCCEEDED = "succeeded"
    CLOSED = "closed"
    CANCELLED = "cancelled"


S = JobState
TRANSITIONS: Mapping[JobState, frozenset[JobState]] = {
    S.QUEUED: frozenset({S.RUNNING, S.CANCELLED, S.DEAD}),
    S.RUNNING: frozenset(
        {S.SUCCEEDED, S.RETRY_SCHEDULED, S.AWAITING_RESULT, S.OUTCOME_UNKNOWN, S.CANCELLED, S.DEAD}
    ),
    S.RETRY_SCHEDULED: frozenset({S.RUNNING, S.CANCELLED, S.DEAD}),
    S.AWAITING_RESULT: frozenset({S.RUNNING, S.SUCCEEDED, S.OUTCOME_UNKNOWN, S.CANCELLED, S.DEAD}),
    S.OUTCOME_UNKNOWN: frozenset(
        {S.RUNNING, S.AWAITING_RESULT, S.RETRY_SCHEDULED, S.SUCCEEDED, S.CANCELLED, S.DEAD}
    ),
    S.DEAD: frozenset({S.QUEUED, S.CLOSED}),
    S.SUCCEEDED: frozenset(),
    S.CLOSED: frozenset(),
    S.CANCELLED: frozenset(),
}
FINAL = frozenset(state for state, following in TRANSITIONS.items() if not following)


class Category(StrEnum):
    """Why a dead job needs a person."""

    FIX_INPUT = "fix_input"
    MANUAL_REVIEW = "manual_review"
    RECONCILE = "reconcile"
    CRASHED = "crashed"
    EXPIRED = "expired"
    BUDGET = "budget"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What went wrong, in our own words: never a provider's text or a document's."""

    code: str
    category: Category
    message: str
    at: datetime
    attempts: int
    worker: str
    app_version: str
    input_ref: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A worker's hold on the job: the token of one invocation, valid until then by storage time."""

    token: str
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResult:
    """The result as it lies in storage; sizes in bytes."""

    ref: str
    content_type: str
    sha256: str
    size: int


class Review(StrEnum):
    """Whether a finished job's result may be shown, for tasks that publish after a person's look."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job's row."""

    job_id: str
    source: str
    account: str
    event_id: str
    event_type: str
    task_type: str
    user_id: str | None
    body_sha256: str
    input_ref: str | None
    traceparent: str | None
    created_at: datetime
    updated_at: datetime
    released_at: datetime  # start of the present release: deadlines count from here
    event_time: datetime | None = None
    state: JobState = JobState.QUEUED
    release: int = 0
    turn: int = 0
    claim: int = 0
    attempt: int = 0  # spent attempts: grows only when a retry is decided
    crashes: int = 0  # claims of this release that ended without an outcome
    lease: Lease | None = None
    not_before: datetime | None = None
    failure: Failure | None = None
    result: StoredResult | None = None
    case_release: int | None = None  # the release whose case is filed
    open_effects: tuple[str, ...] = ()  # actions whose intent stands without a result, as in the ledger
    waits: int = 0  # polls, or questions about an unknown outcome, one after the other
    put_offs: int = 0  # times in a row that it came to a provider or tenant that had no room
    interruptions: int = 0  # of runs that an outage of our own cut short, since it last came further
    waiting_since: datetime | None = None  # since when the outside works on it, or an outcome is asked for
    cancel_requested: bool = False  # honoured before the next effect
    review: Review | None = None
    inputs_gone: bool = False  # deleted after the configured time
    result_gone: bool = False  # likewise

    @property
    def final(self) -> bool:
        return self.state in FINAL

    @property
    def settled(self) -> bool:
        """Whether nothing is left to decide about it: final, and under no review."""
        return self.final and self.review is not Review.PENDING

    @property
    def comes_again(self) -> bool:
        """Whether this attempt ran before: as a look, or until it was put off or interrupted."""
        return self.waits > 0 or self.put_offs > 0 or self.interruptions > 0

    @property
    def waiting(self) -> bool:
        """Whether the outside works on it, or an outcome is asked for: what runs then is a look."""
        return self.waits > 0 or self.waiting_since is not None

    @property
    def case_filed(self) -> bool:
        return self.state is JobState.DEAD and self.case_release == self.release

    def moved(self, state: JobState, at: datetime, **changes: Any) -> Self:
        """The job in `state`, with `changes`. Raises IllegalTransition for what the table does not hold.

        `updated_at` never goes back: storage tells its time in whole seconds, and clocks differ.
        """
        if state not in TRANSITIONS[self.state]:
            raise IllegalTransition(f"{self.job_id}: {self.state} cannot become {state}")
        return replace(self, state=state, updated_at=max(at, self.updated_at), **changes)

    def changed(self, at: datetime, **changes: Any) -> Self:
        """The job in the same state, with `changes`."""
        return replace(self, updated_at=max(at, self.updated_at), **changes)


def job_id_for(source: str, account: str, event_id: str) -> str:
    """The identity of an event: `job_` and 26 base32 characters.

    Inserting the row of this id is the dedupe. Parts are length-prefixed so that no two triples collide.
    """
    digest = hashlib.sha256()
    for part in (source, account, event_id):
        raw = part.encode()
        digest.update(len(raw).to_bytes(4, "big") + raw)
    return "job_" + base64.b32encode(digest.digest()).decode().lower()[:26]


def result_ref(job: Job) -> str:
    """Where this release's result lies: the same place for every attempt at the same input."""
    input_sha = hashlib.sha256((job.input_ref or "").encode()).hexdigest()[:16]
    return f"results/{job.job_id}/{job.release}-{input_sha}"
