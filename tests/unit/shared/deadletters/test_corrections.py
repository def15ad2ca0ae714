"""Correcting a person's word: a mistyped id is replaced, and the job goes on with the right one."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from shared.deadletters.decisions import Decision
from shared.deadletters.open_effects import said_to_be_done
from shared.deadletters.ports import CaseState
from shared.deadletters.reconcile import Outcome, Reconciled, Reconciliation, reconcile
from shared.deadletters.refusals import ChangedMeanwhile, NoOpenEffect, NotDead
from shared.effects.records import EffectRecord, EffectState, effect_key
from shared.errors import Conflict
from shared.jobs import Job, JobState
from shared.ports import RowKind
from shared.services import Services
from tests.support.application import new_job, store
from tests.support.cases import failure, filed_job, released
from tests.support.effects import an_effect, effect_of, job_of_unknown_outcome, put_effect
from tests.support.fakes import World

ADA = Decision(operator="ada", reason="In the provider's list.")
GRACE = Decision(operator="grace", reason="The id was mistyped.", idempotency_key="key-2")
WRONG = Reconciliation(effect="submit", outcome=Outcome.DONE, external_id="video_86")
RIGHT = replace(WRONG, external_id="video_68")
NOT_DONE = Reconciliation(effect="submit", outcome=Outcome.NOT_DONE)


def said_done(job: Job, **changes: Any) -> EffectRecord:
    """The submit as ada's word left it."""
    given = {"state": EffectState.DONE, "external_id": WRONG.external_id, "operator": "ada"}
    return an_effect(job, "submit", **(given | changes))


async def dead_of_a_wrong_id(services: Services, world: World, **effect: Any) -> Job:
    """A job that looked for the wrong video in vain, and whose case is filed."""
    job = await filed_job(services, world, release=1, failure=failure(world, code="video_not_known"))
    await put_effect(world, job, said_done(job, **effect))
    return job


async def test_a_mistyped_id_is_replaced_and_the_job_runs_on(world: World, services: Services) -> None:
    job = await dead_of_a_wrong_id(services, world)
    assert await reconcile(services, job.job_id, GRACE, RIGHT) == released(job)
    record = await effect_of(world, job, "submit")
    assert (record.state, record.external_id, record.operator) == (EffectState.DONE, "video_68", "grace")
    now = world.jobs.job(job.job_id)
    assert (now.state, now.release, now.claim) == (JobState.QUEUED, 2, job.claim + 1)
    assert world.bus.sent[0].message.release == 2
    (case,) = world.cases.all_cases()
    assert (case.state, case.operator) == (CaseState.RESUBMITTED, "grace")


async def test_what_was_not_done_after_all_may_begin_anew(world: World, services: Services) -> None:
    job = await dead_of_a_wrong_id(services, world)
    assert await reconcile(services, job.job_id, GRACE, NOT_DONE) == released(job)
    record = await effect_of(world, job, "submit")
    assert (record.state, record.code, record.external_id) == (EffectState.FAILED, "not_done", None)
    assert (record.key, record.operator) == (effect_key(job.job_id, "submit", 0), "grace")


async def test_decision_and_timeline_tell_what_was_replaced(world: World, services: Services) -> None:
    job = await dead_of_a_wrong_id(services, world)
    await reconcile(services, job.job_id, GRACE, RIGHT)
    (decision,) = await world.jobs.rows(job.job_id, RowKind.DECISION)
    assert decision.data["instead_of"] == {"operator": "ada", "external_id": "video_86"}
    assert (decision.data["operator"], decision.data["external_id"]) == ("grace", "video_68")
    timeline = await world.jobs.rows(job.job_id, RowKind.TIMELINE)
    notes = [row.data["note"] for row in timeline if row.data["event"] == "reconciled"]
    assert notes == ["submit by grace, instead of the word of ada"]


async def test_while_another_outcome_is_unknown_each_word_is_kept(world: World, services: Services) -> None:
    job = await job_of_unknown_outcome(services, world, "submit", "announce")
    still_open = Reconciled(job_id=job.job_id, remaining=("announce",))
    assert await reconcile(services, job.job_id, ADA, WRONG) == still_open
    assert await reconcile(services, job.job_id, GRACE, RIGHT) == still_open
    assert await reconcile(services, job.job_id, ADA, WRONG) == still_open
    assert await reconcile(services, job.job_id, GRACE, RIGHT) == still_open  # a repeat, by its key
    words = [row.data["external_id"] for row in await world.jobs.rows(job.job_id, RowKind.DECISION)]
    assert sorted(words) == ["video_68", "video_86", "video_86"]
    assert (await effect_of(world, job, "submit")).external_id == "video_86"
    assert await reconcile(services, job.job_id, ADA, replace(NOT_DONE, effect="announce")) == released(job)


async def test_a_repeat_of_the_correction_gets_the_same_answer(world: World, services: Services) -> None:
    job = await dead_of_a_wrong_id(services, world)
    first = await reconcile(services, job.job_id, GRACE, RIGHT)
    assert await reconcile(services, job.job_id, GRACE, RIGHT) == first
    assert world.jobs.job(job.job_id).release == 2


async def test_the_word_that_stands_is_no_correction(world: World, services: Services) -> None:
    job = await dead_of_a_wrong_id(services, world)
    with pytest.raises(NoOpenEffect):
        await reconcile(services, job.job_id, GRACE, WRONG)
    assert world.jobs.job(job.job_id) == job


@pytest.mark.parametrize(
    "known",
    [
        {"operator": None},
        {"operator": None, "late": True},
        {"state": EffectState.FAILED, "code": "not_done"},
        {"state": EffectState.NOT_EXECUTED},
    ],
)
@pytest.mark.parametrize("word", [RIGHT, NOT_DONE])
async def test_what_is_not_done_by_a_person_s_word_is_not_corrected(
    world: World, services: Services, known: dict[str, Any], word: Reconciliation
) -> None:
    job = await dead_of_a_wrong_id(services, world, **known)
    record = await effect_of(world, job, "submit")
    with pytest.raises(NoOpenEffect):
        await reconcile(services, job.job_id, GRACE, word)
    assert await effect_of(world, job, "submit") == record


async def test_only_the_last_generation_is_corrected(world: World, services: Services) -> None:
    job = await dead_of_a_wrong_id(services, world)
    await put_effect(
        world, job, an_effect(job, "submit", generation=1, state=EffectState.DONE, external_id="video_9")
    )
    with pytest.raises(NoOpenEffect):
        await reconcile(services, job.job_id, GRACE, RIGHT)


async def test_a_job_that_still_looks_for_the_wrong_video_is_left_alone(
    world: World, services: Services
) -> None:
    job = await store(world, new_job(world, state=JobState.AWAITING_RESULT, waits=2))
    await put_effect(world, job, said_done(job))
    with pytest.raises(NotDead):
        await reconcile(services, job.job_id, GRACE, RIGHT)


async def test_of_two_corrections_at_once_one_is_told_to_look_again(world: World, services: Services) -> None:
    job = await dead_of_a_wrong_id(services, world)
    done = await asyncio.gather(
        reconcile(services, job.job_id, ADA, NOT_DONE),
        reconcile(services, job.job_id, GRACE, RIGHT),
        return_exceptions=True,
    )
    assert sorted(type(each).__name__ for each in done) == [ChangedMeanwhile.__name__, "Reconciled"]
    assert world.jobs.job(job.job_id).release == 2


@pytest.mark.parametrize("others", [(), ("announce",)])
async def test_a_correction_whose_answer_was_lost_counts_as_done(
    world: World, services: Services, others: tuple[str, ...]
) -> None:
    job = await job_of_unknown_outcome(services, world, *others)
    await put_effect(world, job, said_done(job))
    world.jobs.fail_next("commit", Conflict(), after=True)
    done = await reconcile(services, job.job_id, replace(GRACE, idempotency_key=None), RIGHT)
    assert done == (Reconciled(job_id=job.job_id, remaining=others) if others else released(job))
    assert (await effect_of(world, job, "submit")).external_id == "video_68"


async def test_no_record_is_no_word(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    assert await said_to_be_done(services, job, "submit") is None
