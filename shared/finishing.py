"""Tidying up once a release needs nobody any more: the lists are set right, then its open row goes.

The open row goes last, so that whatever a crash leaves undone is found again by the sweep.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from shared.jobs import Job, JobState
from shared.ports import Case, CaseState, RowKind
from shared.services import Services


async def finish(services: Services, job: Job, release: int) -> None:
    """Settle the list of cases, then remove the open row of `release`. Repeatable."""
    await settle_cases(services, job)
    await services.open_index.remove(job.job_id, release)


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
