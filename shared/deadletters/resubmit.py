"""Resubmitting a dead job: a new release, with the same input or a better one.

The open row of the new release comes first, then one batch (release + 1, decision, new input), then the
send. Whatever dies in between, the sweep finds the open row and sends.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from shared.deadletters.decisions import (
    Decision,
    check_written,
    decidable,
    decision_row,
    fingerprint_of_request,
    load_job,
    repeated,
)
from shared.deadletters.refusals import (
    ChangedMeanwhile,
    IdempotencyKeyReused,
    InputRefused,
    NotResubmittable,
    OutcomeUnknown,
)
from shared.errors import Conflict, QueueUnavailable
from shared.failpoints import Point, reach
from shared.finishing import settle_cases
from shared.inputs import exists, may_use, place_input, store_input
from shared.jobs import Category, Job, JobState
from shared.messages import JobMessage
from shared.ports import CaseState, Row, Snapshot
from shared.refs import parse_ref
from shared.services import Services


@dataclass(frozen=True, slots=True, kw_only=True)
class Resubmission:
    """What to run: at most one of `input_ref` and `content` replaces the input; `at` delays the start.

    A time that has passed delays nothing.
    """

    input_ref: str | None = None
    content: bytes | None = None
    content_type: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resubmitted:
    """`queued` is False when the bus was away: the release is stored and the sweep will send it."""

    job_id: str
    release: int
    queued: bool


async def resubmit(services: Services, job_id: str, decision: Decision, wanted: Resubmission) -> Resubmitted:
    """Release the job once more. Raises a Refusal, or StorageUnavailable."""
    if job_id.startswith("msg_"):
        raise NotResubmittable
    request_hash = fingerprint_of_request(
        {
            "operator": decision.operator,
            "reason": decision.reason,
            "input_ref": wanted.input_ref,
            "content": wanted.content.hex() if wanted.content is not None else None,
            "at": wanted.at,
        }
    )
    snapshot = await load_job(services, job_id)
    earlier = await repeated(services, job_id, decision)
    if earlier is not None:
        if earlier.get("request_hash") != request_hash:
            raise IdempotencyKeyReused
        return await _again(services, snapshot, int(earlier["release"]) + 1)
    try:
        snapshot = await decidable(services, snapshot)
    except ChangedMeanwhile:
        if await repeated(services, job_id, decision) is None:
            raise
        return await resubmit(services, job_id, decision, wanted)  # as the repeat that it is
    _refuse_unknown_outcome(snapshot.job)
    job, rows = await _released(services, snapshot.job, wanted)
    decided = decision_row(
        snapshot.job,
        CaseState.RESUBMITTED,
        decision,
        request_hash,
        job.updated_at,
        input_ref=job.input_ref,
        earlier_input_ref=snapshot.job.input_ref,
    )
    rows += [decided, services.timeline(job, "resubmitted", at=job.updated_at)]
    await services.open_index.put(job_id, job.release)
    await reach(Point.RESUBMIT_BEFORE_BATCH)
    try:
        written = await services.jobs.commit(snapshot, job, rows)
    except Conflict:
        written = None
    if written is None:
        await check_written(services, job_id, decision, decided)
        return await _again(services, await load_job(services, job_id), job.release)
    # Again, for a decision so slow that the sweep took the row for an orphan's.
    await services.open_index.put(job_id, job.release)
    await reach(Point.RESUBMIT_BEFORE_SEND)
    queued = await _send(services, written.job)
    await reach(Point.RESUBMIT_AFTER_SEND)
    await settle_cases(services, written.job)
    services.telemetry.count("cases_resubmitted", task_type=job.task_type)
    return Resubmitted(job_id=job_id, release=job.release, queued=queued)


async def _again(services: Services, snapshot: Snapshot, release: int) -> Resubmitted:
    """A repeat of an earlier request: send again what may not have been sent, and answer the same."""
    job, queued = snapshot.job, True
    if job.release == release and job.state is JobState.QUEUED:
        await services.open_index.put(job.job_id, release)
        queued = await _send(services, job)
    await settle_cases(services, job)
    return Resubmitted(job_id=job.job_id, release=release, queued=queued)


async def _send(services: Services, job: Job) -> bool:
    try:
        await services.bus.send(JobMessage.for_job(job), at=job.not_before)
    except QueueUnavailable:
        services.telemetry.count("queue_away", where="resubmit")
        return False
    return True


def _refuse_unknown_outcome(job: Job) -> None:
    if job.failure is not None and job.failure.category is Category.RECONCILE:
        raise OutcomeUnknown


async def _released(services: Services, job: Job, wanted: Resubmission) -> tuple[Job, list[Row]]:
    """The job in its next release, and the rows of a new input, whose blob is stored on the way."""
    now = services.clock.now()
    not_before = wanted.at if wanted.at is not None and wanted.at > now else None
    input_ref, rows = job.input_ref, []
    if wanted.content is not None:
        placed = place_input(job.job_id, wanted.content, wanted.content_type)
        await store_input(services, placed)
        input_ref, rows = placed.ref, [placed.row] if placed.row else []
    elif wanted.input_ref is not None:
        await _check_ref(services, job, wanted.input_ref)
        input_ref = wanted.input_ref
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
    return replace(released, lease=None, result=None), rows


async def _check_ref(services: Services, job: Job, ref: str) -> None:
    try:
        parse_ref(ref)
    except ValueError as error:
        raise InputRefused(f"`input_ref` is not a reference: {error}") from None
    if not may_use(services, job, ref):
        raise InputRefused("`input_ref` lies outside what the job's source may read (allowed_inputs).")
    if not await exists(services, job.job_id, ref):
        raise InputRefused("There is no document at `input_ref`. Upload it first.")
