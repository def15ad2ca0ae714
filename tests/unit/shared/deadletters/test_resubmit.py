"""Resubmitting: each refusal, repeats, kills, a bus that is away."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.deadletters.close import close
from shared.deadletters.decisions import Decision
from shared.deadletters.filing import file_case
from shared.deadletters.refusals import (
    AlreadyDone,
    CaseNotFound,
    ChangedMeanwhile,
    IdempotencyKeyReused,
    InputRefused,
    NotDead,
    NotResubmittable,
    OutcomeUnknown,
    Refusal,
)
from shared.deadletters.release import Released
from shared.deadletters.resubmit import Resubmission, resubmit
from shared.effects.records import EffectState
from shared.errors import Conflict, StorageUnavailable
from shared.failpoints import Point
from shared.inputs import place_input
from shared.jobs import Category, Job, JobState
from shared.ports import CaseState, RowKind
from shared.services import Services
from shared.sweep import Sweep
from tests.support.application import new_job, store
from tests.support.cases import dead_job, failure, filed_job, snapshot_of
from tests.support.effects import an_effect, effect_of, job_of_unknown_outcome, put_effect
from tests.support.fakes import World
from tests.support.kills import killed_at

DECISION = Decision(operator="ada", reason="The document is there now.")
KEYED = replace(DECISION, idempotency_key="key-1")


async def refused(
    services: Services, job_id: str, kind: type[Refusal], wanted: Resubmission | None = None
) -> None:
    with pytest.raises(kind):
        await resubmit(services, job_id, DECISION, wanted or Resubmission())


async def again(services: Services, job: Job, decision: Decision = DECISION) -> Released:
    return await resubmit(services, job.job_id, decision, Resubmission())


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


@pytest.mark.parametrize(
    "ref",
    [
        "nothing",
        "inputs/../secrets/a",
        "inputs/other/a.txt",
        "inputs/documents/absent.txt",
        "protected/unreadable/msg_1/a",
        "inline/{job_id}/../" + "a" * 64,
        "inputs/{job_id}/" + "a" * 64,
        "inline/{job_id}/" + "a" * 64,
    ],
)
async def test_an_input_that_cannot_be_used_is_refused(world: World, services: Services, ref: str) -> None:
    job = await filed_job(services, world)
    await refused(services, job.job_id, InputRefused, Resubmission(input_ref=ref.format(job_id=job.job_id)))
    assert world.jobs.job(job.job_id).state is JobState.DEAD


async def test_a_better_document_replaces_the_input(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    world.blobs.put_now("inputs/documents/better.txt", b"Better.")
    await resubmit(services, job.job_id, DECISION, Resubmission(input_ref="inputs/documents/better.txt"))
    assert world.jobs.job(job.job_id).input_ref == "inputs/documents/better.txt"
    (decision,) = await world.jobs.rows(job.job_id, RowKind.DECISION)
    assert decision.data["earlier_input_ref"] == job.input_ref
    timeline = await world.jobs.rows(job.job_id, RowKind.TIMELINE)
    (changed,) = [row for row in timeline if row.data["event"] == "input_changed"]
    assert changed.data["note"] == f"by ada: inputs/documents/better.txt instead of {job.input_ref}"


async def test_the_same_input_is_no_change(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    await again(services, job)
    events = [row.data["event"] for row in await world.jobs.rows(job.job_id, RowKind.TIMELINE)]
    assert "input_changed" not in events
    assert "resubmitted" in events


@pytest.mark.parametrize("size", [20, 40_000])
async def test_a_new_input_is_stored_and_can_be_named_again(
    world: World, services: Services, size: int
) -> None:
    job = await filed_job(services, world)
    content = b"x" * size
    await resubmit(services, job.job_id, DECISION, Resubmission(content=content))
    ref = world.jobs.job(job.job_id).input_ref
    assert ref == place_input(job.job_id, content).ref
    second = await filed_job(services, world, "evt_2")
    await refused(services, second.job_id, InputRefused, Resubmission(input_ref=ref))


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


async def test_the_same_key_gives_the_same_answer_and_sends_again(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    first = await again(services, job, KEYED)
    second = await again(services, job, KEYED)
    assert first == second
    assert [sent.dropped for sent in world.bus.sent] == [False, True]
    assert world.jobs.job(job.job_id).release == 1


async def test_the_same_key_still_answers_when_its_start_has_passed(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    wanted = Resubmission(at=world.clock.now() + timedelta(minutes=5))
    first = await resubmit(services, job.job_id, KEYED, wanted)
    world.clock.advance(600)
    assert await resubmit(services, job.job_id, KEYED, wanted) == first


async def test_the_same_key_for_something_else_is_refused(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    await again(services, job, KEYED)
    with pytest.raises(IdempotencyKeyReused):
        await resubmit(services, job.job_id, KEYED, Resubmission(content=b"other"))
    with pytest.raises(IdempotencyKeyReused):
        await close(services, job.job_id, KEYED)


async def test_a_repeat_after_the_job_went_on_sends_nothing(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    first = await again(services, job, KEYED)
    snapshot = await world.jobs.load(job.job_id)
    assert snapshot is not None
    await world.jobs.commit(snapshot, snapshot.job.moved(JobState.RUNNING, world.clock.now(), claim=9))
    assert await again(services, job, KEYED) == first
    assert len(world.bus.sent) == 1


async def test_of_two_operators_at_once_one_is_told_to_look_again(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    other = replace(DECISION, operator="grace")
    done = await asyncio.gather(again(services, job), again(services, job, other), return_exceptions=True)
    assert sorted(type(each).__name__ for each in done) == [ChangedMeanwhile.__name__, Released.__name__]
    assert world.jobs.job(job.job_id).release == 1


async def test_one_request_sent_twice_at_once_gets_one_answer(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    first, second = await asyncio.gather(again(services, job, KEYED), again(services, job, KEYED))
    assert first == second == Released(job_id=job.job_id, release=1, queued=True)


async def test_two_requests_at_once_under_one_key_are_told_apart(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    other = replace(KEYED, reason="Something else.")
    done = await asyncio.gather(
        again(services, job, KEYED), again(services, job, other), return_exceptions=True
    )
    assert sorted(type(each).__name__ for each in done) == ["IdempotencyKeyReused", "Released"]
    assert world.jobs.job(job.job_id).release == 1


async def test_a_commit_that_was_repeated_after_its_lost_answer_counts_as_done(
    world: World, services: Services
) -> None:
    job = await filed_job(services, world)
    world.jobs.fail_next("commit", Conflict(), after=True)
    assert (await again(services, job)).release == 1
    assert len(world.bus.accepted()) == 1


async def test_a_lost_answer_is_made_good_by_the_same_key(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    world.jobs.fail_next("commit", after=True)
    with pytest.raises(StorageUnavailable):
        await again(services, job, KEYED)
    assert await again(services, job, KEYED) == Released(job_id=job.job_id, release=1, queued=True)
    assert len(world.bus.accepted()) == 1


async def test_while_the_bus_is_away_the_release_is_stored_and_the_sweep_sends_it(
    world: World, services: Services
) -> None:
    job = await filed_job(services, world)
    world.bus.down = True
    assert not (await again(services, job)).queued
    world.bus.down = False
    world.clock.advance(130)
    await Sweep(services).run()
    (sent,) = world.bus.sent
    assert (sent.message.release, sent.suffix is not None) == (1, True)


@pytest.mark.parametrize(
    ("point", "release"),
    [
        (Point.RESUBMIT_BEFORE_BATCH, 0),
        (Point.RESUBMIT_BEFORE_SEND, 1),
        (Point.RESUBMIT_AFTER_SEND, 1),
    ],
)
async def test_a_kill_leaves_either_the_case_or_a_release_that_the_sweep_sends(
    world: World, services: Services, point: Point, release: int
) -> None:
    job = await filed_job(services, world)
    async with killed_at(point):
        await again(services, job)
    for _ in range(3):
        world.clock.advance(601)
        await Sweep(services).run()
    now = world.jobs.job(job.job_id)
    assert now.release == release
    if release:
        assert any(sent.message.release == 1 for sent in world.bus.accepted())
        assert world.open.keys() == {(job.job_id, 1)}
    else:
        assert (now.state, world.open.keys()) == (JobState.DEAD, set())
        assert (await again(services, job)).release == 1
