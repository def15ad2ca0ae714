"""Cancelling: an end that a person asks for.

A job that waits ends at once. One that runs, or whose effect has an unknown outcome, gets a flag, which its
worker honours before the next effect and before every retry or wait: no claim is taken from it, so what it
has begun outside is still recorded, and what nobody knows yet is found out first.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from shared.deadletters.decisions import decision_under, fingerprint_of_request, kept_decision
from shared.deadletters.refusals import AlreadyDone, ChangedMeanwhile, CloseInstead, IdempotencyKeyReused
from shared.errors import Conflict
from shared.failpoints import Point, reach
from shared.finishing import tidy
from shared.jobs import Job, JobState
from shared.ports import Row, Snapshot
from shared.services import Services

_TRIES = 5
_STILL_WORKED_ON = "The outside may still finish it; nobody will fetch it."


class Cancelling(StrEnum):
    """How far it has come."""

    CANCELLED = "cancelled"
    REQUESTED = "cancelling"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancellation:
    """Why the job is to end, and who wants it, if that is known."""

    reason: str
    operator: str | None = None
    idempotency_key: str | None = None

    @property
    def request_hash(self) -> str:
        return fingerprint_of_request({"cancel": self.reason, "operator": self.operator})


async def cancel(services: Services, snapshot: Snapshot, wanted: Cancellation) -> Cancelling:
    """Cancel the job of `snapshot`, at once or as soon as its worker comes to it. Repeatable.

    Raises a Refusal, or StorageUnavailable.
    """
    await _check_key(services, snapshot.job, wanted)
    current: Snapshot | None = snapshot
    for _ in range(_TRIES):
        assert current is not None, "a job's row is never deleted"
        try:
            return await _cancel(services, current, wanted)
        except Conflict:
            current = await services.jobs.load(snapshot.job.job_id)
    raise ChangedMeanwhile


async def _check_key(services: Services, job: Job, wanted: Cancellation) -> None:
    if wanted.idempotency_key is None:
        return
    earlier = await decision_under(services, job.job_id, wanted.idempotency_key)
    if earlier is not None and earlier.get("request_hash") != wanted.request_hash:
        raise IdempotencyKeyReused


async def _cancel(services: Services, snapshot: Snapshot, wanted: Cancellation) -> Cancelling:
    """On the row as it is in `snapshot`. Raises Conflict when it has changed."""
    job = snapshot.job
    match job.state:
        case JobState.CANCELLED:
            await tidy(services, job, job.release)  # what a crash left over
            return Cancelling.CANCELLED
        case JobState.SUCCEEDED | JobState.CLOSED:
            raise AlreadyDone(f"The job is {job.state}; there is nothing to cancel.")
        case JobState.DEAD:
            raise CloseInstead
        case JobState.RUNNING:
            await _request(services, snapshot, wanted)
            return Cancelling.REQUESTED
        case _ if job.open_effects:  # what nobody knows yet must not be forgotten by it
            await _request(services, snapshot, wanted)
            return Cancelling.REQUESTED
        case _:
            await _end(services, snapshot, wanted)
            return Cancelling.CANCELLED


async def _request(services: Services, snapshot: Snapshot, wanted: Cancellation) -> None:
    job, now = snapshot.job, services.clock.now()
    if job.cancel_requested:
        return
    await reach(Point.CANCEL_BEFORE_BATCH)
    flagged = job.changed(now, cancel_requested=True)
    rows = [*_decided(job, wanted, now), services.timeline(job, "cancel_requested", at=now)]
    await services.jobs.commit(snapshot, flagged, rows)
    await reach(Point.CANCEL_AFTER_FLAG)
    services.telemetry.count("cancels_requested", task_type=job.task_type)


async def _end(services: Services, snapshot: Snapshot, wanted: Cancellation) -> None:
    job, now = snapshot.job, services.clock.now()
    await reach(Point.CANCEL_BEFORE_BATCH)
    # The claim grows so that no worker that lives somewhere can write any more.
    ended = job.moved(
        JobState.CANCELLED, now, claim=job.claim + 1, lease=None, not_before=None, waiting_since=None
    )
    rows = [*_decided(job, wanted, now), services.timeline(ended, "cancelled", at=now, note=_left_open(job))]
    written = await services.jobs.commit(snapshot, ended, rows)
    await reach(Point.CANCEL_AFTER_BATCH)
    services.telemetry.count("jobs_cancelled", task_type=job.task_type)
    await tidy(services, written.job, written.job.release)


def _left_open(job: Job) -> str | None:
    """What the outside may still be doing, for the timeline."""
    return _STILL_WORKED_ON if job.state is JobState.AWAITING_RESULT else None


def _decided(job: Job, wanted: Cancellation, now: datetime) -> list[Row]:
    """The kept decision; of a job whose end was asked for already there is one."""
    if job.cancel_requested:
        return []
    said = {
        "action": "cancel",
        "operator": wanted.operator,
        "reason": wanted.reason,
        "idempotency_key": wanted.idempotency_key,
        "request_hash": wanted.request_hash,
    }
    return [kept_decision(job, f"{job.release:06d}-cancelled", said, now)]
