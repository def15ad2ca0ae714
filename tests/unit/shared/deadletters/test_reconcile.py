"""Reconciling: what a person found out becomes the record, and the job runs on after the last."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.deadletters.ports import CaseState
from shared.deadletters.reconcile import Reconciled, reconcile
from shared.deadletters.refusals import CallUnderWay, Refusal
from shared.deadletters.resubmit import Resubmission, resubmit
from shared.effects.records import EffectState, effect_key
from shared.jobs import JobState
from shared.ports import RowKind
from shared.services import Services
from shared.worker.run import Worker
from tests.support.cases import filed_job, released
from tests.support.effects import an_effect, effect_of, job_of_unknown_outcome, put_effect
from tests.support.fakes import World
from tests.unit.shared.deadletters.reconciling import DECISION, DONE, KEYED, NOT_DONE


async def test_a_done_effect_is_recorded_with_its_id_and_the_job_runs_on(
    world: World, services: Services
) -> None:
    job = await job_of_unknown_outcome(services, world, "submit", attempt=2, crashes=1, waits=9, turn=4)
    world.clock.advance(3600)
    assert await reconcile(services, job.job_id, DECISION, DONE) == released(job)
    record = await effect_of(world, job, "submit")
    assert (record.state, record.external_id, record.operator) == (EffectState.DONE, "video_7", "ada")
    now = world.jobs.job(job.job_id)
    assert (now.state, now.release, now.turn, now.claim) == (JobState.QUEUED, 1, 5, job.claim + 1)
    assert (now.attempt, now.crashes, now.waits, now.open_effects) == (0, 0, 0, ())
    assert (now.released_at, now.input_ref) == (world.clock.now(), job.input_ref)
    assert world.bus.sent[0].message_id == f"{job.job_id}:1:5"
    assert world.open.keys() == {(job.job_id, 1)}
    (case,) = world.cases.all_cases()
    assert (case.state, case.operator, case.reason) == (CaseState.RESUBMITTED, "ada", DECISION.reason)


async def test_an_effect_that_was_not_done_may_begin_anew(world: World, services: Services) -> None:
    job = await job_of_unknown_outcome(services, world, "submit")
    await reconcile(services, job.job_id, DECISION, NOT_DONE)
    record = await effect_of(world, job, "submit")
    assert (record.state, record.code, record.operator) == (EffectState.FAILED, "not_done", "ada")
    assert (record.external_id, record.key) == (None, effect_key(job.job_id, "submit", 0))


@pytest.mark.parametrize(("earlier", "taken"), [(timedelta(milliseconds=1), False), (timedelta(), True)])
async def test_not_done_is_taken_once_the_call_is_surely_over(
    world: World, services: Services, earlier: timedelta, taken: bool
) -> None:
    job = await filed_job(services, world, open_effects=("submit",))
    until = world.clock.now() + timedelta(minutes=1)
    await put_effect(world, job, an_effect(job, "submit", call_until=until))
    world.clock.advance(timedelta(minutes=1) - earlier)
    if taken:
        assert await reconcile(services, job.job_id, KEYED, NOT_DONE) == released(job)
        return
    with pytest.raises(CallUnderWay, match=f"{until:%Y-%m-%dT%H:%M:%SZ}") as refused:
        await reconcile(services, job.job_id, KEYED, NOT_DONE)
    assert refused.value.headers == {"Retry-After": "1"}
    assert world.jobs.job(job.job_id) == job
    assert await world.jobs.rows(job.job_id, RowKind.DECISION) == []
    assert await reconcile(services, job.job_id, DECISION, DONE) == released(job)


async def test_a_cancel_that_waited_for_the_outcome_is_honoured_after_it(
    world: World, services: Services
) -> None:
    job = await job_of_unknown_outcome(services, world, "submit", cancel_requested=True)
    await reconcile(services, job.job_id, DECISION, DONE)
    message = world.bus.sent[0].message
    await Worker(services).handle(message.body(), message.properties(), None)
    assert world.jobs.job(job.job_id).state is JobState.CANCELLED
    assert world.open.keys() == set()


async def test_the_decision_is_kept_and_the_timeline_tells_it(world: World, services: Services) -> None:
    job = await job_of_unknown_outcome(services, world, "submit")
    await reconcile(services, job.job_id, DECISION, DONE)
    (decision,) = await world.jobs.rows(job.job_id, RowKind.DECISION)
    said = {name: decision.data[name] for name in ("action", "operator", "reason", "effect", "outcome")}
    assert said == {
        "action": "reconcile",
        "operator": "ada",
        "reason": DECISION.reason,
        "effect": "submit",
        "outcome": "done",
    }
    timeline = await world.jobs.rows(job.job_id, RowKind.TIMELINE)
    (told,) = [row.data for row in timeline if row.data["event"] == "reconciled"]
    assert (told["code"], told["note"], told["release"]) == ("done", "submit by ada", 1)


async def test_while_another_outcome_is_unknown_the_job_stays_dead(world: World, services: Services) -> None:
    job = await job_of_unknown_outcome(services, world, "submit", "announce")
    first = await reconcile(services, job.job_id, DECISION, DONE)
    assert first == Reconciled(job_id=job.job_id, remaining=("announce",))
    now = world.jobs.job(job.job_id)
    assert (now.state, now.release, now.open_effects) == (JobState.DEAD, 0, ("announce",))
    assert now.claim == job.claim + 1
    assert (world.bus.sent, world.open.keys()) == ([], set())
    assert [case.state for case in world.cases.all_cases()] == [CaseState.OPEN]
    last = await reconcile(services, job.job_id, DECISION, replace(NOT_DONE, effect="announce"))
    assert last == released(job)
    assert len(await world.jobs.rows(job.job_id, RowKind.DECISION)) == 2


async def test_a_resubmit_waits_for_the_last_outcome(world: World, services: Services) -> None:
    job = await job_of_unknown_outcome(services, world, "submit", "announce")
    await reconcile(services, job.job_id, DECISION, DONE)
    with pytest.raises(Refusal, match="`announce`"):
        await resubmit(services, job.job_id, DECISION, Resubmission())
