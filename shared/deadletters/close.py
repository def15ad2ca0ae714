"""Closing a case: nothing more will be done about it.

An open row guards the way from the job's row to the list of cases, so that a crash in between leaves no
closed job in the open list. It is the row of the next release, which the job will never reach: a late filing
of this release removes only this release's row.
"""

from dataclasses import replace

from shared.deadletters.decisions import (
    Decision,
    begin,
    check_written,
    decision_row,
    fingerprint_of_request,
)
from shared.deadletters.ports import Case, CaseState
from shared.deadletters.refusals import AlreadyDone, CaseNotFound
from shared.errors import Conflict
from shared.failpoints import Point, reach
from shared.finishing import tidy
from shared.jobs import JobState
from shared.services import Services


async def close(services: Services, job_id: str, decision: Decision) -> None:
    """Close the case of `job_id`. Raises a Refusal, or StorageUnavailable."""
    if job_id.startswith("msg_"):
        await _close_message(services, job_id, decision)
        return
    request_hash = fingerprint_of_request({"operator": decision.operator, "reason": decision.reason})
    begun = await begin(services, job_id, decision, request_hash)
    snapshot = begun.snapshot
    if begun.earlier is not None:
        await tidy(services, snapshot.job, snapshot.job.release + 1)
        return
    now = services.clock.now()
    closed = snapshot.job.moved(JobState.CLOSED, now, claim=snapshot.job.claim + 1)
    decided = decision_row(snapshot.job, CaseState.CLOSED, decision, request_hash, now)
    guard = closed.release + 1
    await services.open_index.put(job_id, guard)
    committed = True
    try:
        await services.jobs.commit(snapshot, closed, [decided, services.timeline(closed, "closed", at=now)])
    except Conflict:
        committed = False
    if not committed:
        await check_written(services, job_id, decision, decided)
    # Again, for a decision so slow that the sweep took the row for an orphan's.
    await services.open_index.put(job_id, guard)
    await reach(Point.CLOSE_AFTER_BATCH)
    await tidy(services, closed, guard)
    services.telemetry.count("cases_closed", task_type=closed.task_type)


async def _close_message(services: Services, case_id: str, decision: Decision) -> None:
    """An unreadable message has no job: its case is all there is."""
    case = await services.cases.get(case_id)
    if case is None:
        raise CaseNotFound
    if case.state is not CaseState.OPEN:
        _check_closed_by(case, decision)
        return
    decided = replace(
        case,
        state=CaseState.CLOSED,
        operator=decision.operator,
        reason=decision.reason,
        decided_at=services.clock.now(),
    )
    await services.cases.decide(decided)
    kept = await services.cases.get(case_id)
    if kept is not None and kept != decided:  # another decision came first
        _check_closed_by(kept, decision)
        return
    services.telemetry.count("cases_closed", task_type=case.task_type)


def _check_closed_by(case: Case, decision: Decision) -> None:
    """Raises AlreadyDone unless the case was closed by this decision or a repeat of it."""
    same = (case.operator, case.reason) == (decision.operator, decision.reason)
    if not (same and decision.idempotency_key):
        raise AlreadyDone("The case is closed already.")
