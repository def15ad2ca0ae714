"""Resubmitting: a fresh release, now or later, and each refusal."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.deadletters.filing import file_case
from shared.deadletters.ports import CaseState
from shared.deadletters.refusals import (
    AlreadyDone,
    CaseNotFound,
    ChangedMeanwhile,
    NotDead,
    NotResubmittable,
    OutcomeUnknown,
)
from shared.deadletters.release import Released
from shared.deadletters.resubmit import Resubmission, resubmit
from shared.effects.records import EffectState
from shared.jobs import Category, JobState
from shared.services import Services
from tests.support.application import new_job, store
from tests.support.cases import dead_job, failure, filed_job, snapshot_of
from tests.support.effects import an_effect, effect_of, job_of_unknown_outcome, put_effect
from tests.support.fakes import World
from tests.unit.shared.deadletters.resubmitting import DECISION, again, refused


async def test_a_resubmit_starts_a_fresh_release(world: World, services: Services) -> None:
    job = await filed_job(services, world, attempt=2, crashes=3, turn=4)
    world.clock.advance(3600)
    assert await again(services, job) == Released(job_id=job.job_id, release=1, queued=True)
    now = world.jobs.job(job.job_id)
    assert (now.state, now.release, now.turn) == (JobState.QUEUED, 1, 5)
    assert (now.attempt, now.crashes, now.claim) == (0, 0, job.claim + 1)
    assert now.released_at == world.clock.now()
    assert world.bus.sent[0].message_id == f"{job.job_id}:1:5"
    assert world.open.keys() == {(job.job_id, 1)}
    (case,) = world.cases.all_cases()
    assert (case.state, case.operator, case.reason) == (CaseState.RESUBMITTED, "ada", DECISION.reason)


async def test_an_unknown_case_is_refused(services: Services, world: World) -> None:
    await refused(services, new_job(world).job_id, CaseNotFound)


async def test_an_unreadable_message_cannot_be_resubmitted(services: Services) -> None:
    await refused(services, "msg_7", NotResubmittable)


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.RUNNING, JobState.RETRY_SCHEDULED])
async def test_a_job_under_way_is_refused(world: World, services: Services, state: JobState) -> None:
    job = await store(world, new_job(world, state=state))
    await refused(services, job.job_id, NotDead)


@pytest.mark.parametrize("state", [JobState.SUCCEEDED, JobState.CLOSED])
async def test_a_finished_job_is_refused(world: World, services: Services, state: JobState) -> None:
    job = await store(world, new_job(world, state=state))
    await refused(services, job.job_id, AlreadyDone)


async def test_a_case_that_is_still_being_filed_is_filed_to_its_end_first(
    world: World, services: Services
) -> None:
    job = await dead_job(world)
    assert (await again(services, job)).release == 1
    assert [case.state for case in world.cases.all_cases()] == [CaseState.RESUBMITTED]
    assert world.open.keys() == {(job.job_id, 1)}


async def test_a_job_that_moved_on_while_its_case_was_filed_is_not_decided_upon(
    world: World, services: Services
) -> None:
    job = await dead_job(world)

    async def meanwhile() -> None:
        await again(services, job, replace(DECISION, operator="grace"))
        snapshot = await snapshot_of(world, job.job_id)
        dead = snapshot.job.moved(JobState.DEAD, world.clock.now(), failure=job.failure)
        await file_case(services, await world.jobs.commit(snapshot, dead))

    world.cases.before("file", meanwhile)
    await refused(services, job.job_id, ChangedMeanwhile)
    assert world.jobs.job(job.job_id).release == 1


@pytest.mark.parametrize("category", [Category.RECONCILE, Category.CRASHED, Category.MANUAL_REVIEW])
async def test_an_unknown_outcome_is_refused_whatever_the_category(
    world: World, services: Services, category: Category
) -> None:
    job = await job_of_unknown_outcome(
        services, world, "submit", failure=failure(world, code="crashed", category=category)
    )
    with pytest.raises(OutcomeUnknown, match="`submit`"):
        await again(services, job)
    assert world.jobs.job(job.job_id) == job


async def test_a_reconcile_case_without_an_open_effect_can_be_resubmitted(
    world: World, services: Services
) -> None:
    unknown = failure(world, code="outcome_unknown", category=Category.RECONCILE)
    job = await filed_job(services, world, failure=unknown)
    assert (await again(services, job)).release == 1


async def test_an_outcome_that_a_late_worker_saw_is_known(world: World, services: Services) -> None:
    job = await job_of_unknown_outcome(services, world, "submit")
    late = an_effect(job, "submit", state=EffectState.DONE, external_id="video_7", late=True)
    await put_effect(world, job, late)
    assert (await again(services, job)).release == 1
    assert world.jobs.job(job.job_id).open_effects == ()
    assert await effect_of(world, job, "submit") == replace(late, late=False)


async def test_a_release_begins_with_waits_and_budget_of_its_own_and_keeps_what_was_done(
    world: World, services: Services
) -> None:
    job = await filed_job(
        services,
        world,
        waits=4,
        waiting_since=world.clock.now(),
        cancel_requested=True,
    )
    done = an_effect(job, "submit", state=EffectState.DONE, external_id="video_7")
    await put_effect(world, job, done)
    await again(services, job)
    now = world.jobs.job(job.job_id)
    assert (now.waits, now.waiting_since, now.cancel_requested) == (0, None, False)
    assert await effect_of(world, job, "submit") == done


async def test_a_start_in_the_future_delays_message_and_deadline(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    at = world.clock.now() + timedelta(hours=2)
    await resubmit(services, job.job_id, DECISION, Resubmission(at=at))
    now = world.jobs.job(job.job_id)
    assert (now.not_before, now.released_at, world.bus.sent[0].at) == (at, at, at)


async def test_a_start_in_the_past_delays_nothing(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    await resubmit(services, job.job_id, DECISION, Resubmission(at=world.clock.now()))
    assert (world.jobs.job(job.job_id).not_before, world.bus.sent[0].at) == (None, None)
