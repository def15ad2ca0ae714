"""Many equal decisions under one Idempotency-Key at once: one takes effect, and all get its answer."""

import asyncio
from dataclasses import replace

import pytest

from shared.cancel import Cancellation, Cancelling, cancel
from shared.deadletters.close import close
from shared.deadletters.decisions import Decision
from shared.deadletters.filing import file_case
from shared.deadletters.ports import CaseState
from shared.deadletters.reconcile import Outcome, Reconciled, Reconciliation, reconcile
from shared.deadletters.refusals import ChangedMeanwhile
from shared.deadletters.resubmit import Resubmission, resubmit
from shared.effects.records import EffectState, effect_row, read_effect
from shared.jobs import Job, JobState
from shared.ports import RowKind
from shared.services import Services
from tests.contract.stores import Stores
from tests.support.application import build_services, new_job
from tests.support.cases import dead_job
from tests.support.effects import an_effect
from tests.support.fakes import World

DECISION = Decision(operator="ada", reason="It is there now.", idempotency_key="key-1")
DONE = Reconciliation(effect="submit", outcome=Outcome.DONE, external_id="video_7")
MANY = 25
SOME = 20


async def _dead(services: Services, *, filed: bool, open_effects: tuple[str, ...] = ()) -> Job:
    job = await dead_job(World(), open_effects=open_effects)
    assert await services.jobs.insert(job, [effect_row(an_effect(job, name)) for name in open_effects])
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


async def test_parallel_repeats_of_a_reconciliation_get_one_answer(services: Services) -> None:
    job = await _dead(services, filed=True, open_effects=("submit",))
    repeats = (reconcile(services, job.job_id, DECISION, DONE) for _ in range(SOME))
    answers = {answer.released for answer in await asyncio.gather(*repeats)}
    assert [(answer.release, answer.queued) for answer in answers if answer] == [(1, True)]
    await _settled(services, job.job_id, JobState.QUEUED, CaseState.RESUBMITTED)


async def test_parallel_words_on_two_outcomes_are_all_kept_and_release_the_job_once(
    services: Services,
) -> None:
    job = await _dead(services, filed=True, open_effects=("announce", "submit"))
    decisions = {
        name: (replace(DECISION, idempotency_key=name), replace(DONE, effect=name))
        for name in job.open_effects
    }

    async def until_taken(name: str) -> Reconciled:
        while True:
            try:
                return await reconcile(services, job.job_id, *decisions[name])
            except ChangedMeanwhile:
                await asyncio.sleep(0.01)

    done = await asyncio.gather(*(until_taken(name) for name in [*job.open_effects] * (SOME // 2)))
    assert len({(each.remaining, each.released) for each in done}) == 2
    snapshot = await services.jobs.load(job.job_id)
    assert snapshot is not None
    assert (snapshot.job.release, snapshot.job.open_effects) == (1, ())
    assert len(await services.jobs.rows(job.job_id, RowKind.DECISION)) == 2
    records = [read_effect(row) for row in await services.jobs.rows(job.job_id, RowKind.EFFECT)]
    assert {record.state for record in records} == {EffectState.DONE}


async def test_parallel_cancels_leave_one_decision(services: Services) -> None:
    job = new_job(World())
    assert await services.jobs.insert(job, [])
    snapshot = await services.jobs.load(job.job_id)
    assert snapshot is not None
    wanted = Cancellation(reason="Out of date.", idempotency_key="key-1")
    done = await asyncio.gather(*(cancel(services, snapshot, wanted) for _ in range(SOME)))
    assert set(done) == {Cancelling.CANCELLED}
    assert len(await services.jobs.rows(job.job_id, RowKind.DECISION)) == 1
