"""What a message in the dead-letter queue means for its job: one pure decision, like the worker's."""

from dataclasses import dataclass
from datetime import datetime

from shared.jobs import Category, Failure, Job, JobState
from shared.messages import JobMessage
from shared.ports import Snapshot

TTL_EXPIRED = "TTLExpiredException"  # the broker's reason for a message that outlived its time


@dataclass(frozen=True, slots=True)
class Discard:
    """The message is spent: the job is final, or went on without it."""


@dataclass(frozen=True, slots=True)
class LookAgain:
    """A worker holds the job: its main queue is nudged for then, so that the job is not forgotten."""

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
    if job.state is JobState.RUNNING and job.lease is not None and job.lease.until > now:
        return LookAgain(job.lease.until)
    expired = reason == TTL_EXPIRED
    failure = Failure(
        code="delivery_expired" if expired else "crashed",
        category=Category.EXPIRED if expired else Category.CRASHED,
        message=_EXPIRED if expired else _CRASHED,
        at=now,
        attempts=job.attempt,
        worker=worker,
        app_version=app_version,
        input_ref=job.input_ref,
    )
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


_EXPIRED = "The message lay in the queue longer than it may live. See whether workers run, then resubmit."
_CRASHED = "The message was delivered as often as allowed without an outcome. Look at the worker's log."
