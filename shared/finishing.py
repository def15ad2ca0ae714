"""Tidying up once a release needs nobody any more: what is owed is told, the lists are set right, and last
its open row goes.

The open row goes last, so that whatever a crash leaves undone is found again by the sweep.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from shared.deadletters.ports import Case, CaseState
from shared.errors import QueueUnavailable
from shared.failpoints import Point, reach
from shared.jobs import Job, JobState, Review
from shared.limits.forgetting import forget_job
from shared.messages import JobMessage
from shared.notify.delivery import TryAgain, deliver
from shared.notify.outbox import owed
from shared.pending_reviews import pending_review
from shared.ports import RowKind
from shared.retention.ports import ended
from shared.services import Services


async def finish(services: Services, job: Job, release: int) -> None:
    """Deliver what the outbox holds, then tidy up. Repeatable.

    What could not be delivered keeps the open row of `release`, and the job's message comes again for the
    next attempt. Called for messages only: whoever asks in a request or a timer must not wait for a receiver
    (see `tidy`).
    """
    if release < job.release or await _told(services, job):
        await tidy(services, job, release)
    else:
        await settle_cases(services, job)


async def announce(services: Services, job: Job) -> None:
    """Deliver what the filed dead job owes; its open row goes once nothing is owed. Repeatable."""
    if await owed(services, job) is not None and await _told(services, job):
        await services.open_index.remove(job.job_id, job.release)


async def _told(services: Services, job: Job) -> bool:
    """Whether nothing is owed any more after an attempt; otherwise the message comes again for the next."""
    delivery = await deliver(services, job)
    if isinstance(delivery, TryAgain):
        await come_again(services, job, f"notify-{delivery.at:%Y%m%dT%H%M%S}", delivery.at)
        return False
    return True


async def tidy(services: Services, job: Job, release: int, *, version: str | None = None) -> None:
    """Settle the lists, note the job's end, forget its limits, then remove the open row of `release`.

    With `version` only if the row is still that one: whoever wrote it again since knows more than `job`.
    Repeatable. What waits for a person's look has not come to its end: the verdict's tidying notes that.
    """
    await settle_cases(services, job)
    await settle_review(services, job)
    if job.settled:
        await services.retention.put(ended(job))
    await forget_job(services, job, release)
    await reach(Point.FINISH_BEFORE_OPEN_ROW)
    await services.open_index.remove(job.job_id, release, version=version)


async def come_again(services: Services, job: Job, suffix: str, at: datetime | None = None) -> None:
    """Repeat the job's message for `at`; while the bus is away leave it to the sweep.

    `suffix` is the same for the same attempt, so that duplicate detection keeps messages from multiplying
    where a crash repeats this.
    """
    try:
        await services.bus.send(JobMessage.for_job(job), at=at, suffix=suffix)
    except QueueUnavailable:
        services.telemetry.count("queue_away", where="finish")
    await reach(Point.NOTIFY_AFTER_NUDGE)


async def settle_cases(services: Services, job: Job) -> None:
    """Make the list of cases say what the job's row says: it is a projection, repaired from the row."""
    if job.case_release is None:
        return
    case = await services.cases.get(job.job_id, job.case_release)
    if case is None or case.state is not CaseState.OPEN:
        return
    decided = await _decided(services, job, case)
    if decided is not None:
        await services.cases.decide(decided)


async def settle_review(services: Services, job: Job) -> None:
    """Make the list of pending reviews say what the job's row says.

    A verdict that came while this listed the job takes it off again: either here, or after its own batch.
    """
    if job.review is None:
        return
    entry = pending_review(job)
    if job.review is Review.PENDING:
        await services.reviews.put(entry)
        now = await services.jobs.load(job.job_id)
        if now is None or now.job.review is Review.PENDING:
            return
    await services.reviews.remove(entry)


async def _decided(services: Services, job: Job, case: Case) -> Case | None:
    """The case as the job's decisions left it; None while it is still open."""
    closed = job.state is JobState.CLOSED and job.case_release == job.release
    if not closed and job.release == case.release:
        return None
    state = CaseState.CLOSED if closed else CaseState.RESUBMITTED
    key = decision_key(case.release, state)
    decision = await services.jobs.row(job.job_id, RowKind.DECISION, key)
    return decided_case(case, state, decision.data if decision else {})


def decision_key(release: int, state: CaseState) -> str:
    """The key of the decision that ended the case of `release`: there is one of each kind at most."""
    return f"{release:06d}-{state.value}"


def decided_case(case: Case, state: CaseState, decision: Mapping[str, Any]) -> Case:
    """The case in `state`, with who decided, why and when."""
    at = decision.get("at")
    return replace(
        case,
        state=state,
        operator=decision.get("operator"),
        reason=decision.get("reason"),
        decided_at=datetime.fromisoformat(at) if at else None,
    )
