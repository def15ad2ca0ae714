"""What a message in the dead-letter queue means for its job: one pure decision, like the worker's."""

from dataclasses import dataclass
from datetime import datetime

from shared.abandoned import abandoned
from shared.jobs import Category, Failure, Job, JobState
from shared.messages import JobMessage
from shared.ports import Snapshot

TTL_EXPIRED = "TTLExpiredException"  # the broker's reason for a message that outlived its time


@dataclass(frozen=True, slots=True)
class Discard:
    """The message is spent: the job is final, or went on without it."""


@dataclass(frozen=True, slots=True)
class LookAgain:
    """A worker holds the job, or it waits: its main queue is nudged for then, so that it is not forgotten."""

    until: datetime


@dataclass(frozen=True, slots=True)
class FileCase:
    """The job is dead and says why: its case is to be filed."""


@dataclass(frozen=True, slots=True)
class BuryAndFile:
    """The job was left without an outcome: `job` is the row to write before its case is filed."""

    job: Job


@dataclass(frozen=True, slots=True)
class Orphan:
    """No job stands behind the message: it is kept as a case of its own."""


Judgement = Discard | LookAgain | FileCase | BuryAndFile | Orphan


def judge(
    message: JobMessage, snapshot: Snapshot | None, reason: str | None, *, worker: str, app_version: str
) -> Judgement:
    """Decide for a dead-lettered `message`; `reason` is the broker's."""
    if snapshot is None or message.release > snapshot.job.release:
        return Orphan()
    job, now = snapshot.job, snapshot.read_at
    if job.final or (message.release, message.turn) < (job.release, job.turn):
        return Discard()
    if job.state is JobState.DEAD:
        return FileCase()
    until = _looked_after_until(job)
    if until is not None and until > now:
        return LookAgain(until)
    failure = _failure(job, now, expired=reason == TTL_EXPIRED, worker=worker, app_version=app_version)
    dead = job.moved(
        JobState.DEAD,
        now,
        claim=job.claim + 1,
        lease=None,
        not_before=None,
        turn=message.turn,
        failure=failure,
    )
    return BuryAndFile(dead)


def _looked_after_until(job: Job) -> datetime | None:
    """Until when somebody has the job in hand: its worker, or a wait that a run has decided on.

    A wait is put into the job's row before its message is spent, and where it is no new turn (a provider
    that rests, a full tenant) the spent message is of the present turn: killed often enough between the two,
    it ends here while the job does nothing but wait.
    """
    if job.state is JobState.RUNNING:
        return None if job.lease is None else job.lease.until
    return job.not_before


def _failure(job: Job, now: datetime, *, expired: bool, worker: str, app_version: str) -> Failure:
    return abandoned(
        job,
        now,
        code="delivery_expired" if expired else "crashed",
        category=Category.EXPIRED if expired else Category.CRASHED,
        text=_EXPIRED if expired else _CRASHED,
        worker=worker,
        app_version=app_version,
    )


_EXPIRED = "The message lay in the queue longer than it may live. See whether workers run, then resubmit."
_CRASHED = "The message was delivered as often as allowed without an outcome. Look at the worker's log."
