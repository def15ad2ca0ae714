"""What a message may do with its job: one pure decision, taken on the row as storage holds it.

The order of the questions matters and is fixed: finished, stale, dead, leased, early, crashed, claim.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.abandoned import abandoned
from shared.jobs import Category, Job, JobState, Lease
from shared.messages import JobMessage
from shared.ports import Snapshot

CRASH_LIMIT = 5
# Storage tells its time in whole seconds, so a message on time may look early by up to one.
EARLY_TOLERANCE = timedelta(seconds=1.5)
OVERTOOK_PAUSE = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class NoSuchJob:
    """Nothing is stored for this message."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The job is final: what a crash left over is tidied up, nothing runs."""


@dataclass(frozen=True, slots=True)
class Stale:
    """A later release or turn is entitled to act; this message is spent."""


@dataclass(frozen=True, slots=True)
class AlreadyDead:
    """The job waits for a person: the message belongs in the dead-letter queue."""


@dataclass(frozen=True, slots=True)
class NotYet:
    """Another invocation holds the job, or it must wait: look again then."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Crashed:
    """Too many claims ended without an outcome: `job` is the row to write."""

    job: Job


@dataclass(frozen=True, slots=True)
class Claimable:
    """`job` is the row that claims it."""

    job: Job


Admission = NoSuchJob | Finished | Stale | AlreadyDead | NotYet | Crashed | Claimable


def admit(
    message: JobMessage,
    snapshot: Snapshot | None,
    *,
    lease_token: str,
    lease_for: timedelta,
    worker: str,
    app_version: str,
) -> Admission:
    """Decide what `message` may do. Leases are judged and granted by the storage's own time."""
    if snapshot is None or message.release > snapshot.job.release:
        return NoSuchJob()
    job, now = snapshot.job, snapshot.read_at
    if job.final:
        return Finished()
    if (message.release, message.turn) < (job.release, job.turn):
        return Stale()
    if job.state is JobState.DEAD:
        # With its case filed, nothing is left to do but what is still to be told.
        return Finished() if job.case_filed else AlreadyDead()
    if job.state is JobState.RUNNING and job.lease is not None and job.lease.until > now:
        # Who sends the next turn writes it a moment later: a message that came first need not wait long.
        overtook = message.turn > job.turn
        return NotYet(min(job.lease.until, now + OVERTOOK_PAUSE) if overtook else job.lease.until)
    if job.not_before is not None and now + EARLY_TOLERANCE < job.not_before:
        return NotYet(job.not_before)
    crashes = job.crashes + (job.state is JobState.RUNNING)
    if crashes >= CRASH_LIMIT:
        return Crashed(_crashed(job, now, crashes, worker, app_version))
    lease = Lease(token=lease_token, until=now + lease_for)
    changes = {
        "claim": job.claim + 1,
        "turn": max(job.turn, message.turn),
        "lease": lease,
        "not_before": None,
        "crashes": crashes,
    }
    if job.state is JobState.RUNNING:
        return Claimable(job.changed(now, **changes))
    return Claimable(job.moved(JobState.RUNNING, now, **changes))


def _crashed(job: Job, now: datetime, crashes: int, worker: str, app_version: str) -> Job:
    failure = abandoned(
        job,
        now,
        code="crashed",
        category=Category.CRASHED,
        text=f"The worker ended {crashes} times without an outcome. Look for memory or timeout kills.",
        worker=worker,
        app_version=app_version,
    )
    # The claim grows so that a worker that still lives somewhere can no longer commit.
    return job.moved(
        JobState.DEAD, now, claim=job.claim + 1, crashes=crashes, lease=None, not_before=None, failure=failure
    )
