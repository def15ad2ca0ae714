"""Making an outcome last: the result and success, a retry, or death. Each survives a crash at any line.

Success writes the blob, then the row, then removes the open row. A retry sends the next turn first and
writes it second: the bus knows no transactions here, and a duplicate is harmless where a loss is not.
"""

import hashlib
from datetime import datetime

from shared.decisions import Bury, RetryAfter, decide
from shared.errors import AfterhookError, Conflict, DeadLettered, StorageUnavailable
from shared.failpoints import Point, reach
from shared.finishing import finish
from shared.jobs import Failure, Job, JobState, StoredResult, result_ref
from shared.messages import JobMessage
from shared.nudges import hold_while_bus_is_away
from shared.ports import Row, RowKind, Snapshot
from shared.retry import RetryPolicy
from shared.services import Services
from shared.tasks.base import TaskResult
from shared.worker.claims import commit_under_claim, outlast_outage

RESULT_LIMIT = 64 * 1024 * 1024


async def stored_result(services: Services, job: Job) -> StoredResult | None:
    """The result that an earlier claim of this release stored before it died, if any."""
    ref = result_ref(job)
    info = await services.blobs.info(ref)
    if info is None:
        return None
    content = await services.blobs.read(ref, max_bytes=RESULT_LIMIT)
    if content is None:
        return None
    return _described(ref, content, info.content_type or "application/octet-stream")


async def store_result(services: Services, job: Job, result: TaskResult) -> StoredResult:
    """Store the result unless this release has one already; the row records what is stored."""
    ref = result_ref(job)
    if await services.blobs.put_if_absent(ref, result.content, result.content_type):
        return _described(ref, result.content, result.content_type)
    earlier = await stored_result(services, job)
    if earlier is None:
        raise StorageUnavailable("The result's blob was there a moment ago and is not now.")
    return earlier


def _described(ref: str, content: bytes, content_type: str) -> StoredResult:
    sha = hashlib.sha256(content).hexdigest()
    return StoredResult(ref=ref, content_type=content_type, sha256=sha, size=len(content))


async def succeed(services: Services, claimed: Snapshot, result: StoredResult, until: datetime) -> None:
    """Record success, then remove the open row. Does nothing if the claim is lost."""
    job, now = claimed.job, services.clock.now()

    def change(current: Job) -> Job:
        return current.moved(
            JobState.SUCCEEDED, now, lease=None, not_before=None, failure=None, result=result
        )

    rows = [services.timeline(job, "succeeded", at=now), _attempt_row(services, job, now, "succeeded")]
    written = await commit_under_claim(services, claimed, change, rows, until)
    if written is None:
        services.telemetry.count("claims_lost", task_type=job.task_type)
        return
    await reach(Point.WORKER_AFTER_SUCCESS)
    services.telemetry.count("jobs_succeeded", task_type=job.task_type)
    await outlast_outage(services, lambda: finish(services, written.job, job.release), until)
    await reach(Point.WORKER_AFTER_OPEN_ROW_REMOVED)


async def fail(
    services: Services, claimed: Snapshot, error: AfterhookError, policy: RetryPolicy, until: datetime
) -> None:
    """Retry later, or bury the job and raise DeadLettered so that its message leaves the queue."""
    now = services.clock.now()
    match decide(error, claimed.job, policy, now, services.randomness.fraction()):
        case RetryAfter(delay):
            await _retry(services, claimed, error, now + delay, until)
        case Bury() as bury:
            await _bury(services, claimed, bury, until)


async def _retry(
    services: Services, claimed: Snapshot, error: AfterhookError, at: datetime, until: datetime
) -> None:
    job, now = claimed.job, services.clock.now()
    turn, spent = job.turn + 1, job.attempt + 1
    message = JobMessage.for_job(job, turn=turn, attempt=spent)
    await hold_while_bus_is_away(services, lambda: services.bus.send(message, at=at))
    await reach(Point.WORKER_AFTER_TURN_SENT)

    def change(current: Job) -> Job:
        state = JobState.RETRY_SCHEDULED
        return current.moved(state, now, turn=turn, attempt=spent, lease=None, not_before=at)

    rows = [
        services.timeline(job, "retry_scheduled", at=now, code=error.code),
        _attempt_row(services, job, now, error.code),
    ]
    if await commit_under_claim(services, claimed, change, rows, until) is None:
        services.telemetry.count("claims_lost", task_type=job.task_type)
        return
    await reach(Point.WORKER_AFTER_TURN_WRITTEN)
    services.telemetry.count("retries_scheduled", task_type=job.task_type, code=error.code)


async def step_back(services: Services, claimed: Snapshot) -> None:
    """Give the claim back after an outage: nothing was concluded, so neither attempt nor crash is counted.

    Storage may still be away: then the lease runs out instead. The caller nudges.
    """
    job, now = claimed.job, services.clock.now()
    back = job.moved(JobState.RETRY_SCHEDULED, now, lease=None)
    rows = [services.timeline(job, "interrupted", at=now, code=StorageUnavailable.code)]
    try:
        await services.jobs.commit(claimed, back, rows)
    except (StorageUnavailable, Conflict):
        services.telemetry.count("claims_not_given_back", task_type=job.task_type)


async def _bury(services: Services, claimed: Snapshot, bury: Bury, until: datetime) -> None:
    job, now = claimed.job, services.clock.now()
    await reach(Point.WORKER_BEFORE_DEAD)
    failure = Failure(
        code=bury.code,
        category=bury.category,
        message=bury.message,
        at=now,
        attempts=job.attempt + 1,
        worker=services.worker,
        app_version=services.app_version,
        input_ref=job.input_ref,
    )

    def change(current: Job) -> Job:
        return current.moved(JobState.DEAD, now, lease=None, not_before=None, failure=failure)

    rows = [
        services.timeline(job, "dead", at=now, code=bury.code),
        _attempt_row(services, job, now, bury.code),
    ]
    if await commit_under_claim(services, claimed, change, rows, until) is None:
        services.telemetry.count("claims_lost", task_type=job.task_type)
        return
    await reach(Point.WORKER_AFTER_DEAD)
    services.telemetry.count("jobs_dead", task_type=job.task_type, code=bury.code)
    raise DeadLettered(job.job_id, bury.code) from None


def _attempt_row(services: Services, job: Job, ended: datetime, outcome: str) -> Row:
    return Row(
        kind=RowKind.ATTEMPT,
        key=f"{job.release:06d}-{job.attempt:04d}-{job.claim:06d}",
        data={
            "release": job.release,
            "attempt": job.attempt,
            "claim": job.claim,
            "started_at": job.updated_at.isoformat(),
            "ended_at": ended.isoformat(),
            "outcome": outcome,
            "worker": services.worker,
            "app_version": services.app_version,
        },
    )
