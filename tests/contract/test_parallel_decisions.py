"""Fifty equal decisions under one Idempotency-Key at once: one takes effect, and all get its answer."""

import asyncio
from dataclasses import replace

import pytest

from shared.deadletters.close import close
from shared.deadletters.decisions import Decision
from shared.deadletters.filing import file_case
from shared.deadletters.resubmit import Resubmission, resubmit
from shared.jobs import Job, JobState
from shared.ports import CaseState, RowKind
from shared.services import Services
from tests.contract.conftest import Stores
from tests.support.application import build_services
from tests.support.cases import dead_job
from tests.support.fakes import World

DECISION = Decision(operator="ada", reason="It is there now.", idempotency_key="key-1")
MANY = 50


async def _dead(services: Services, *, filed: bool) -> Job:
    job = await dead_job(World())
    assert await services.jobs.insert(job, [])
    if filed:
        loaded = await services.jobs.load(job.job_id)
        assert loaded is not None
        await file_case(services, loaded)
    return job


async def _settled(services: Services, job_id: str, state: JobState, case_state: CaseState) -> None:
    snapshot, case = await services.jobs.load(job_id), await services.cases.get(job_id, 0)
    assert snapshot is not None
    assert case is not None
    assert (snapshot.job.state, case.state) == (state, case_state)
    assert len(await services.jobs.rows(job_id, RowKind.DECISION)) == 1


@pytest.fixture
def services(stores: Stores) -> Services:
    """The application's services on the stores under test."""
    return replace(build_services(World()), jobs=stores.jobs, cases=stores.cases, open_index=stores.open)


@pytest.mark.parametrize("filed", [True, False], ids=["filed", "not yet filed"])
async def test_parallel_repeats_of_a_resubmit_get_one_answer(services: Services, *, filed: bool) -> None:
    job = await _dead(services, filed=filed)
    repeats = (resubmit(services, job.job_id, DECISION, Resubmission()) for _ in range(MANY))
    answers = await asyncio.gather(*repeats)
    assert {(answer.release, answer.queued) for answer in answers} == {(1, True)}
    await _settled(services, job.job_id, JobState.QUEUED, CaseState.RESUBMITTED)


@pytest.mark.parametrize("filed", [True, False], ids=["filed", "not yet filed"])
async def test_parallel_repeats_of_a_close_all_return(services: Services, *, filed: bool) -> None:
    job = await _dead(services, filed=filed)
    await asyncio.gather(*(close(services, job.job_id, DECISION) for _ in range(MANY)))
    await _settled(services, job.job_id, JobState.CLOSED, CaseState.CLOSED)
