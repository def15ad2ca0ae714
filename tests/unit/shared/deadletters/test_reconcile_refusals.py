"""Words about effects that are refused: what is known already is not overruled."""

from dataclasses import replace

import pytest

from shared.deadletters.reconcile import Reconciliation, reconcile
from shared.deadletters.refusals import (
    AlreadyDone,
    CaseNotFound,
    ChangedMeanwhile,
    NoOpenEffect,
    NotDead,
    Refusal,
)
from shared.effects.records import EffectState
from shared.jobs import JobState
from shared.services import Services
from tests.support.application import new_job, store
from tests.support.cases import filed_job, released, snapshot_of
from tests.support.effects import an_effect, effect_of, job_of_unknown_outcome, put_effect
from tests.support.fakes import World
from tests.unit.shared.deadletters.reconciling import DECISION, DONE, NOT_DONE


@pytest.mark.parametrize("effect", ["other", "submit-0000", ""])
async def test_an_effect_that_is_not_open_is_refused(world: World, services: Services, effect: str) -> None:
    job = await job_of_unknown_outcome(services, world, "submit")
    with pytest.raises(NoOpenEffect):
        await reconcile(services, job.job_id, DECISION, replace(DONE, effect=effect))
    assert world.jobs.job(job.job_id) == job


@pytest.mark.parametrize(("word", "then"), [(DONE, DONE), (NOT_DONE, NOT_DONE), (NOT_DONE, DONE)])
async def test_the_same_word_is_not_taken_twice_and_not_done_is_not_taken_back(
    world: World, services: Services, word: Reconciliation, then: Reconciliation
) -> None:
    job = await job_of_unknown_outcome(services, world, "submit", "announce")
    await reconcile(services, job.job_id, DECISION, word)
    said = await effect_of(world, job, "submit")
    with pytest.raises(NoOpenEffect):
        await reconcile(services, job.job_id, replace(DECISION, operator="grace"), then)
    assert await effect_of(world, job, "submit") == said


async def test_what_a_late_worker_saw_is_not_overruled(world: World, services: Services) -> None:
    job = await job_of_unknown_outcome(services, world, "submit", "announce")
    late = an_effect(job, "submit", state=EffectState.DONE, external_id="video_7", late=True)
    await put_effect(world, job, late)
    with pytest.raises(NoOpenEffect):
        await reconcile(services, job.job_id, DECISION, NOT_DONE)
    done = await reconcile(services, job.job_id, DECISION, replace(NOT_DONE, effect="announce"))
    assert done == released(job)
    assert await effect_of(world, job, "submit") == replace(late, late=False)


async def test_a_worker_whose_result_comes_first_is_not_overwritten(world: World, services: Services) -> None:
    job = await job_of_unknown_outcome(services, world, "submit")
    result = an_effect(job, "submit", state=EffectState.DONE, external_id="video_7")

    async def meanwhile() -> None:
        await put_effect(world, job, result)
        snapshot = await snapshot_of(world, job.job_id)
        await world.jobs.commit(snapshot, snapshot.job.changed(world.clock.now(), open_effects=()))

    world.jobs.before("commit", meanwhile)
    with pytest.raises(ChangedMeanwhile):
        await reconcile(services, job.job_id, DECISION, NOT_DONE)
    assert await effect_of(world, job, "submit") == result


@pytest.mark.parametrize("job_id", ["msg_7"])
async def test_an_unreadable_message_has_no_effects(services: Services, job_id: str) -> None:
    with pytest.raises(NoOpenEffect):
        await reconcile(services, job_id, DECISION, DONE)


async def test_an_unknown_case_is_refused(world: World, services: Services) -> None:
    with pytest.raises(CaseNotFound):
        await reconcile(services, new_job(world).job_id, DECISION, DONE)


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (JobState.OUTCOME_UNKNOWN, NotDead),
        (JobState.RUNNING, NotDead),
        (JobState.SUCCEEDED, AlreadyDone),
        (JobState.CANCELLED, AlreadyDone),
    ],
)
async def test_a_job_that_is_not_dead_is_refused(
    world: World, services: Services, state: JobState, kind: type[Refusal]
) -> None:
    job = await store(world, new_job(world, state=state, open_effects=("submit",)))
    await put_effect(world, job, an_effect(job, "submit"))
    with pytest.raises(kind):
        await reconcile(services, job.job_id, DECISION, DONE)


async def test_another_job_of_no_open_effect_is_refused(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    with pytest.raises(NoOpenEffect):
        await reconcile(services, job.job_id, DECISION, DONE)
