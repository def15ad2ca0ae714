"""Making an outcome last: success, another turn, a wait, an end. Each survives a crash at any line.

Success writes the blob, then the row, then removes the open row. A turn (retry, poll, question) is sent
first and written second: the bus knows no transactions here, and a duplicate is harmless where a loss is not.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from shared.decisions import AskAt, Bury, Cancel, LookAt, PutOff, RetryAfter, Rules, decide
from shared.errors import AfterhookError, Conflict, DeadLettered, StorageUnavailable
from shared.failpoints import Point, reach
from shared.finishing import finish
from shared.jobs import Category, Failure, Job, JobState, Review, StoredResult
from shared.messages import JobMessage
from shared.notify.outbox import outbox_rows
from shared.nudges import hold_while_bus_is_away, nudge_or_hold
from shared.pipeline.policies import Publish
from shared.ports import Row, RowKind, Snapshot
from shared.services import Services
from shared.tasks.base import Waiting
from shared.worker.claims import Claim


async def succeed(claim: Claim, result: StoredResult) -> None:
    """Record success, then finish what follows from it. Raises ClaimLost."""
    services, job, now = claim.services, claim.job, claim.services.clock.now()
    policy = services.pipeline.tasks.get(job.task_type)
    reviewed = policy is not None and policy.publish is Publish.AFTER_REVIEW

    def change(current: Job) -> Job:
        return current.moved(
            JobState.SUCCEEDED,
            now,
            lease=None,
            not_before=None,
            waiting_since=None,
            failure=None,
            result=result,
            review=Review.PENDING if reviewed else None,
        )

    rows = [services.timeline(job, "succeeded", at=now), _attempt_row(claim, now, "succeeded")]
    rows += outbox_rows(services, change(job))
    await claim.commit(change, rows)
    await reach(Point.WORKER_AFTER_SUCCESS)
    services.telemetry.count("jobs_succeeded", task_type=job.task_type)
    await claim.outlast_outage(lambda: finish(services, claim.job, job.release))
    await reach(Point.WORKER_AFTER_OPEN_ROW_REMOVED)


async def conclude(claim: Claim, ended: AfterhookError | Waiting, rules: Rules) -> None:
    """Do what follows from a run that did not succeed. Raises DeadLettered for a buried job, or ClaimLost."""
    services = claim.services
    await claim.look_again()
    decision = decide(ended, claim.job, rules, services.clock.now(), services.randomness.fraction())
    match decision:
        case RetryAfter(delay):
            await _turn(claim, _retry(claim.job, ended.code, services.clock.now() + delay))
        case AskAt(at):
            await _turn(claim, _wait(claim.job, JobState.OUTCOME_UNKNOWN, ended.code, at))
        case LookAt(at):
            await _turn(claim, _wait(claim.job, JobState.AWAITING_RESULT, ended.code, at))
        case PutOff(until, reason):
            await _put_off(claim, until, reason)
        case Cancel():
            await _cancel(claim)
        case Bury():
            await _bury(claim, decision)
        case _:
            assert_never(decision)


@dataclass(frozen=True, slots=True)
class Turn:
    """The next message's turn: when it comes, and what the row says meanwhile."""

    state: JobState
    at: datetime
    code: str
    attempt: int
    counter: str
    waits: int = 0
    first_wait: bool = False


def _retry(job: Job, code: str, at: datetime) -> Turn:
    return Turn(JobState.RETRY_SCHEDULED, at, code, job.attempt + 1, "retries_scheduled")


def _wait(job: Job, state: JobState, code: str, at: datetime) -> Turn:
    return Turn(
        state, at, code, job.attempt, "waits_scheduled", waits=job.waits + 1, first_wait=job.waits == 0
    )


async def _turn(claim: Claim, wanted: Turn) -> None:
    services, job, now = claim.services, claim.job, claim.services.clock.now()
    turn = job.turn + 1
    message = JobMessage.for_job(job, turn=turn, attempt=wanted.attempt)
    await reach(Point.WORKER_BEFORE_TURN_SENT)
    await hold_while_bus_is_away(services, lambda: services.bus.send(message, at=wanted.at))
    await reach(Point.WORKER_AFTER_TURN_SENT)
    since = None
    if wanted.waits:
        since = job.waiting_since or now

    def change(current: Job) -> Job:
        return current.moved(
            wanted.state,
            now,
            turn=turn,
            attempt=wanted.attempt,
            lease=None,
            not_before=wanted.at,
            waits=wanted.waits,
            put_offs=0,
            interruptions=0,
            waiting_since=since,
        )

    # A long wait is told once: its timeline must not grow with every look.
    told = not wanted.waits or wanted.first_wait
    rows = [services.timeline(job, wanted.state.value, at=now, code=wanted.code)] if told else []
    rows.append(_attempt_row(claim, now, wanted.code))
    await claim.commit(change, rows)
    await reach(Point.WORKER_AFTER_TURN_WRITTEN)
    services.telemetry.count(wanted.counter, task_type=job.task_type, code=wanted.code)


def state_between_runs(job: Job) -> JobState:
    """The state of a job whose claim is given back without an outcome: it is what it was before."""
    if job.open_effects:
        return JobState.OUTCOME_UNKNOWN
    return JobState.AWAITING_RESULT if job.waiting else JobState.RETRY_SCHEDULED


async def _put_off(claim: Claim, until: datetime, reason: str) -> None:
    """Give the claim back, then repeat the message for `until`. The sweep finds what a crash leaves."""
    services, job, now = claim.services, claim.job, claim.services.clock.now()
    await reach(Point.WORKER_BEFORE_PUT_OFF)

    def change(current: Job) -> Job:
        return current.moved(
            state_between_runs(current), now, lease=None, not_before=until, put_offs=current.put_offs + 1
        )

    await claim.commit(
        change, [] if job.put_offs else [services.timeline(job, "put_off", at=now, code=reason)]
    )
    await reach(Point.WORKER_AFTER_PUT_OFF)
    await nudge_or_hold(services, JobMessage.for_job(claim.job), until)
    await reach(Point.WORKER_AFTER_PUT_OFF_NUDGE)
    services.telemetry.count("jobs_put_off", task_type=job.task_type, reason=reason)


async def step_back(services: Services, claimed: Snapshot) -> None:
    """Give the claim back after an outage: nothing was concluded, so neither attempt nor crash is counted.

    Storage may still be away: then the lease runs out instead. The caller nudges.
    """
    job, now = claimed.job, services.clock.now()
    back = job.moved(state_between_runs(job), now, lease=None, interruptions=job.interruptions + 1)
    told = services.timeline(job, "interrupted", at=now, code=StorageUnavailable.code)
    rows = [] if job.interruptions else [told]  # the timeline must not grow with an outage
    try:
        await services.jobs.commit(claimed, back, rows)
    except (StorageUnavailable, Conflict):
        services.telemetry.count("claims_not_given_back", task_type=job.task_type)


async def _cancel(claim: Claim) -> None:
    services, job, now = claim.services, claim.job, claim.services.clock.now()
    await reach(Point.WORKER_BEFORE_CANCELLED)

    def change(current: Job) -> Job:
        return current.moved(JobState.CANCELLED, now, lease=None, not_before=None, waiting_since=None)

    rows = [services.timeline(job, "cancelled", at=now), _attempt_row(claim, now, "cancelled")]
    await claim.commit(change, rows)
    await reach(Point.WORKER_AFTER_CANCELLED)
    services.telemetry.count("jobs_cancelled", task_type=job.task_type)
    await claim.outlast_outage(lambda: finish(services, claim.job, job.release))


async def _bury(claim: Claim, bury: Bury) -> None:
    services, job, now = claim.services, claim.job, claim.services.clock.now()
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
    change = _dead(now, failure)
    rows = [
        services.timeline(job, "dead", at=now, code=bury.code),
        _attempt_row(claim, now, bury.code),
        *outbox_rows(services, change(job)),
    ]
    await claim.commit(change, rows)
    await reach(Point.WORKER_AFTER_DEAD)
    services.telemetry.count("jobs_dead", task_type=job.task_type, code=bury.code)
    raise DeadLettered(job.job_id, bury.code) from None


def _dead(now: datetime, failure: Failure) -> Callable[[Job], Job]:
    def change(current: Job) -> Job:
        # An intent whose write was cut off may come to lie in storage only now.
        category = Category.RECONCILE if current.open_effects else failure.category
        return current.moved(
            JobState.DEAD,
            now,
            lease=None,
            not_before=None,
            waiting_since=None,
            failure=replace(failure, category=category),
        )

    return change


def _attempt_row(claim: Claim, ended: datetime, outcome: str) -> Row:
    """One row an attempt; the looks of a long wait share that of their attempt."""
    services, job = claim.services, claim.job
    look = f"-{job.claim:06d}" if job.waits == 0 else "-wait"
    return Row(
        kind=RowKind.ATTEMPT,
        key=f"{job.release:06d}-{job.attempt:04d}{look}",
        data={
            "release": job.release,
            "attempt": job.attempt,
            "claim": job.claim,
            "started_at": claim.started_at.isoformat(),
            "ended_at": ended.isoformat(),
            "outcome": outcome,
            "worker": services.worker,
            "app_version": services.app_version,
        },
    )
