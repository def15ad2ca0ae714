"""Releasing a dead job once more: what an operator's resubmit and the end of a reconciliation share.

The open row of the new release comes first, then one batch (release + 1, decision), then the send. Whatever
dies in between, the sweep finds the open row and sends.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from shared.deadletters.decisions import Decision, check_written, load_job
from shared.errors import Conflict, QueueUnavailable
from shared.failpoints import Point, reach
from shared.finishing import settle_cases
from shared.jobs import Job, JobState
from shared.messages import JobMessage
from shared.ports import Row, Snapshot
from shared.services import Services


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """`queued` is False when the bus was away: the release is stored and the sweep will send it."""

    job_id: str
    release: int
    queued: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Where the fault tests may stop it, by the kind of decision."""

    before_batch: Point
    before_send: Point
    after_send: Point


def next_release(
    job: Job, now: datetime, *, input_ref: str | None, not_before: datetime | None = None
) -> Job:
    """The job in its next release: queued, with attempts, waits, deadline and budget of its own.

    What it had done outside stays in the ledger, which the new release resumes; nothing may be open there.
    A cancel that was asked for stays too: whoever decides that it no longer counts takes it away.
    """
    released = job.moved(
        JobState.QUEUED,
        now,
        release=job.release + 1,
        turn=job.turn + 1,
        claim=job.claim + 1,
        attempt=0,
        crashes=0,
        released_at=not_before or now,
        not_before=not_before,
        input_ref=input_ref,
    )
    return replace(
        released,
        lease=None,
        result=None,
        review=None,
        open_effects=(),
        waits=0,
        put_offs=0,
        interruptions=0,
        waiting_since=None,
    )


async def release(
    services: Services,
    snapshot: Snapshot,
    job: Job,
    rows: Sequence[Row],
    *,
    decision: Decision,
    decided: Row,
    points: Points,
) -> Released:
    """Write `job`, the next release of the one in `snapshot`, with its `decided` row and `rows`; send it.

    Raises ChangedMeanwhile, IdempotencyKeyReused or StorageUnavailable.
    """
    await services.open_index.put(job.job_id, job.release)
    await reach(points.before_batch)
    try:
        written = await services.jobs.commit(snapshot, job, [*rows, decided])
    except Conflict:
        written = None
    if written is None:
        await check_written(services, job.job_id, decision, decided)
        return await release_again(services, await load_job(services, job.job_id), job.release)
    # Again, for a decision so slow that the sweep took the row for an orphan's.
    await services.open_index.put(job.job_id, job.release)
    await reach(points.before_send)
    queued = await _send(services, written.job)
    await reach(points.after_send)
    await settle_cases(services, written.job)
    return Released(job_id=job.job_id, release=job.release, queued=queued)


async def release_again(services: Services, snapshot: Snapshot, number: int) -> Released:
    """A repeat of an earlier request: send again what may not have been sent, and answer the same."""
    job, queued = snapshot.job, True
    if job.release == number and job.state is JobState.QUEUED:
        await services.open_index.put(job.job_id, number)
        queued = await _send(services, job)
    await settle_cases(services, job)
    return Released(job_id=job.job_id, release=number, queued=queued)


async def _send(services: Services, job: Job) -> bool:
    try:
        await services.bus.send(JobMessage.for_job(job), at=job.not_before)
    except QueueUnavailable:
        services.telemetry.count("queue_away", where="release")
        return False
    return True
