"""A person's look at a result before it is published, for tasks with `publish = "after_review"`.

Until then the result and its announcement are withheld. The verdict, the announcement and the decision are
one batch; an open row stands before it, so that the sweep sees to what a crash leaves untold, or on the list
of what waits. It is the row of the next release, which the job will never reach: a worker that finishes late
removes only this release's.
"""

from typing import ClassVar

from shared.deadletters.decisions import Decision, fingerprint_of_request, kept_decision, repeated, said
from shared.deadletters.refusals import ChangedMeanwhile, IdempotencyKeyReused, Refusal
from shared.errors import Conflict
from shared.failpoints import Point, reach
from shared.finishing import come_again, settle_review, tidy
from shared.jobs import Job, Review
from shared.notify.outbox import outbox_rows, owed
from shared.ports import Row, Snapshot
from shared.services import Services


class JobNotFound(Refusal):
    """There is no job of this id."""

    code: ClassVar[str] = "job_not_found"
    status: ClassVar[int] = 404


class NoReview(Refusal):
    """The job has no result that waits for a review."""

    code: ClassVar[str] = "no_review"


class AlreadyReviewed(Refusal):
    """The result was judged otherwise before, which stands."""

    code: ClassVar[str] = "already_reviewed"


class ResultGone(Refusal):
    """The result is no longer stored: there is nothing to publish. Reject it, to take it off the list."""

    code: ClassVar[str] = "result_gone"
    status: ClassVar[int] = 410


async def review(services: Services, job_id: str, decision: Decision, verdict: Review) -> None:
    """Record APPROVED or REJECTED; repeatable. Raises a Refusal, or StorageUnavailable."""
    parts = {"action": verdict.value, "operator": decision.operator, "reason": decision.reason}
    request_hash = fingerprint_of_request(parts)
    snapshot = await _load(services, job_id)
    earlier = await repeated(services, job_id, decision)
    if earlier is not None and earlier.get("request_hash") != request_hash:
        raise IdempotencyKeyReused
    if snapshot.job.review is not verdict:
        await _check(services, snapshot.job, verdict)
        snapshot = await _write(services, snapshot, decision, request_hash, verdict)
    await _follow(services, snapshot.job)


async def _check(services: Services, job: Job, verdict: Review) -> None:
    """Raises NoReview, AlreadyReviewed, or ResultGone for an approval of what is not there."""
    if job.review is None:
        raise NoReview
    if job.review is not Review.PENDING:
        raise AlreadyReviewed(f"The result is {job.review.value} already; that stands.")
    if verdict is Review.APPROVED:
        ref = None if job.result is None or job.result_gone else job.result.ref
        if ref is None or await services.blobs.info(ref) is None:
            raise ResultGone


async def _write(
    services: Services, snapshot: Snapshot, decision: Decision, request_hash: str, verdict: Review
) -> Snapshot:
    now = services.clock.now()
    job = snapshot.job.changed(now, review=verdict)
    await services.open_index.put(job.job_id, job.release + 1)
    await reach(Point.REVIEW_BEFORE_BATCH)
    action = "approve" if verdict is Review.APPROVED else "reject"
    words = {"action": action} | said(decision, request_hash)
    rows: list[Row] = [
        kept_decision(job, f"{job.release:06d}-review", words, now),
        services.timeline(job, verdict.value, at=now),
        *outbox_rows(services, job),
    ]
    try:
        written = await services.jobs.commit(snapshot, job, rows)
    except Conflict:
        written = await _load(services, job.job_id)
        if written.job.review is not verdict:
            raise ChangedMeanwhile from None
    else:
        services.telemetry.count("results_reviewed", task_type=job.task_type, verdict=verdict.value)
    await reach(Point.REVIEW_AFTER_BATCH)
    return written


async def _follow(services: Services, job: Job) -> None:
    """Take the job off the list of what waits, and have a message deliver what is owed.

    The open row is put again, should the sweep have taken it meanwhile.
    """
    if await owed(services, job) is None:
        await tidy(services, job, job.release + 1)
        return
    await settle_review(services, job)
    await services.open_index.put(job.job_id, job.release + 1)
    await come_again(services, job, "approved")
    await reach(Point.REVIEW_AFTER_NUDGE)


async def _load(services: Services, job_id: str) -> Snapshot:
    snapshot = await services.jobs.load(job_id)
    if snapshot is None:
        raise JobNotFound
    return snapshot
