"""Reconciling: what a person found out becomes the record, and the job runs on after the last."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.deadletters.decisions import Decision
from shared.deadletters.reconcile import Outcome, Reconciled, Reconciliation, reconcile
from shared.deadletters.refusals import (
    AlreadyDone,
    CallUnderWay,
    CaseNotFound,
    ChangedMeanwhile,
    IdempotencyKeyReused,
    NoOpenEffect,
    NotDead,
    Refusal,
)
from shared.deadletters.resubmit import Resubmission, resubmit
from shared.effects.records import EffectState, effect_key
from shared.errors import Conflict, StorageUnavailable
from shared.failpoints import Point
from shared.jobs import JobState
from shared.ports import CaseState, RowKind
from shared.services import Services
from shared.sweep import Sweep
from shared.worker.run import Worker
from tests.support.application import new_job, store
from tests.support.cases import filed_job, released, snapshot_of
from tests.support.effects import an_effect, effect_of, job_of_unknown_outcome, put_effect
from tests.support.fakes import World
from tests.support.kills import killed_at

DECISION = Decision(operator="ada", reason="Looked at the provider's list.")
KEYED = replace(DECISION, idempotency_key="key-1")
DONE = Reconciliation(effect="submit", outcome=Outcome.DONE, external_id="video_7")
NOT_DONE = Reconciliation(effect="submit", outcome=Outcome.NOT_DONE)


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


@pytest.mark.parametrize("actions", [("submit",), ("submit", "announce")])
async def test_the_same_key_gives_the_same_answer(
    world: World, services: Services, actions: tuple[str, ...]
) -> None:
    job = await job_of_unknown_outcome(services, world, *actions)
    first = await reconcile(services, job.job_id, KEYED, DONE)
    assert await reconcile(services, job.job_id, KEYED, DONE) == first
    assert len(await world.jobs.rows(job.job_id, RowKind.DECISION)) == 1


async def test_the_same_key_answers_the_same_after_the_job_has_gone_on(
    world: World, services: Services
) -> None:
    job = await job_of_unknown_outcome(services, world, "submit", "announce")
    first = await reconcile(services, job.job_id, KEYED, DONE)
    await reconcile(services, job.job_id, DECISION, replace(NOT_DONE, effect="announce"))
    assert await reconcile(services, job.job_id, KEYED, DONE) == first


@pytest.mark.parametrize(
    "other", [NOT_DONE, replace(DONE, external_id="video_8"), replace(DONE, effect="announce")]
)
async def test_the_same_key_for_something_else_is_refused(
    world: World, services: Services, other: Reconciliation
) -> None:
    job = await job_of_unknown_outcome(services, world, "submit", "announce")
    await reconcile(services, job.job_id, KEYED, DONE)
    with pytest.raises(IdempotencyKeyReused):
        await reconcile(services, job.job_id, KEYED, other)
    with pytest.raises(IdempotencyKeyReused):
        await resubmit(services, job.job_id, KEYED, Resubmission())


async def test_of_two_opposite_words_at_once_one_is_told_to_look_again(
    world: World, services: Services
) -> None:
    job = await job_of_unknown_outcome(services, world, "submit")
    done = await asyncio.gather(
        reconcile(services, job.job_id, DECISION, DONE),
        reconcile(services, job.job_id, replace(DECISION, operator="grace"), NOT_DONE),
        return_exceptions=True,
    )
    assert sorted(type(each).__name__ for each in done) == ["ChangedMeanwhile", "Reconciled"]
    assert world.jobs.job(job.job_id).release == 1


@pytest.mark.parametrize("actions", [("submit",), ("submit", "announce")])
async def test_one_request_sent_twice_at_once_gets_one_answer(
    world: World, services: Services, actions: tuple[str, ...]
) -> None:
    job = await job_of_unknown_outcome(services, world, *actions)
    first, second = await asyncio.gather(
        reconcile(services, job.job_id, KEYED, DONE), reconcile(services, job.job_id, KEYED, DONE)
    )
    assert first == second
    assert world.jobs.job(job.job_id).release == (1 if len(actions) == 1 else 0)


@pytest.mark.parametrize(
    ("meanwhile", "kind"), [(KEYED, None), (replace(KEYED, idempotency_key="key-2"), ChangedMeanwhile)]
)
async def test_a_word_taken_between_the_reading_of_row_and_ledger_is_told_from_a_repeat(
    world: World, services: Services, meanwhile: Decision, kind: type[Refusal] | None
) -> None:
    job = await job_of_unknown_outcome(services, world, "submit")

    async def other() -> None:
        await reconcile(services, job.job_id, meanwhile, DONE)

    async def before_ledger() -> None:
        world.jobs.before("rows", other)

    world.jobs.before("rows", before_ledger)  # the first reading is that of the decisions
    if kind is None:
        assert await reconcile(services, job.job_id, KEYED, DONE) == released(job)
    else:
        with pytest.raises(kind):
            await reconcile(services, job.job_id, KEYED, DONE)
    assert world.jobs.job(job.job_id).release == 1


@pytest.mark.parametrize("actions", [("submit",), ("submit", "announce")])
async def test_a_commit_whose_answer_was_lost_counts_as_done(
    world: World, services: Services, actions: tuple[str, ...]
) -> None:
    job = await job_of_unknown_outcome(services, world, *actions)
    world.jobs.fail_next("commit", Conflict(), after=True)
    done = await reconcile(services, job.job_id, DECISION, DONE)
    assert done == (
        released(job) if len(actions) == 1 else Reconciled(job_id=job.job_id, remaining=actions[1:])
    )


async def test_an_outage_is_made_good_by_the_same_key(world: World, services: Services) -> None:
    job = await job_of_unknown_outcome(services, world, "submit")
    world.jobs.fail_next("commit", after=True)
    with pytest.raises(StorageUnavailable):
        await reconcile(services, job.job_id, KEYED, DONE)
    assert await reconcile(services, job.job_id, KEYED, DONE) == released(job)
    assert len(world.bus.accepted()) == 1


async def test_while_the_bus_is_away_the_release_is_stored(world: World, services: Services) -> None:
    job = await job_of_unknown_outcome(services, world, "submit")
    world.bus.down = True
    assert await reconcile(services, job.job_id, DECISION, DONE) == released(job, queued=False)


@pytest.mark.parametrize(
    ("point", "release"),
    [
        (Point.RECONCILE_BEFORE_BATCH, 0),
        (Point.RECONCILE_BEFORE_SEND, 1),
        (Point.RECONCILE_AFTER_SEND, 1),
    ],
)
async def test_a_kill_leaves_either_the_case_or_a_release_that_the_sweep_sends(
    world: World, services: Services, point: Point, release: int
) -> None:
    job = await job_of_unknown_outcome(services, world, "submit")
    async with killed_at(point):
        await reconcile(services, job.job_id, KEYED, DONE)
    for _ in range(3):
        world.clock.advance(601)
        await Sweep(services).run()
    assert world.jobs.job(job.job_id).release == release
    known = (await effect_of(world, job, "submit")).state
    assert known is (EffectState.DONE if release else EffectState.INTENDED)
    assert (await reconcile(services, job.job_id, KEYED, DONE)) == released(job)
    assert any(sent.message.release == 1 for sent in world.bus.accepted())
    assert world.open.keys() == {(job.job_id, 1)}


@pytest.mark.parametrize("point", [Point.RECONCILE_BEFORE_BATCH, Point.RECONCILE_AFTER_RECORD])
async def test_a_kill_at_one_of_several_is_made_good_by_the_same_key(
    world: World, services: Services, point: Point
) -> None:
    job = await job_of_unknown_outcome(services, world, "submit", "announce")
    async with killed_at(point):
        await reconcile(services, job.job_id, KEYED, DONE)
    done = await reconcile(services, job.job_id, KEYED, DONE)
    assert done == Reconciled(job_id=job.job_id, remaining=("announce",))
    assert (await effect_of(world, job, "submit")).external_id == "video_7"


async def test_another_job_of_no_open_effect_is_refused(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    with pytest.raises(NoOpenEffect):
        await reconcile(services, job.job_id, DECISION, DONE)
