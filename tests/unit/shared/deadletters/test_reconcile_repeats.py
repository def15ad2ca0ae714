"""Reconciling twice, at once, with answers lost and kills: one word, one answer."""

import asyncio
from dataclasses import replace

import pytest

from shared.deadletters.decisions import Decision
from shared.deadletters.reconcile import Reconciled, Reconciliation, reconcile
from shared.deadletters.refusals import ChangedMeanwhile, IdempotencyKeyReused, Refusal
from shared.deadletters.resubmit import Resubmission, resubmit
from shared.effects.records import EffectState
from shared.errors import Conflict, StorageUnavailable
from shared.failpoints import Point
from shared.ports import RowKind
from shared.services import Services
from shared.sweep import Sweep
from tests.support.cases import released
from tests.support.effects import effect_of, job_of_unknown_outcome
from tests.support.fakes import World
from tests.support.kills import killed_at
from tests.unit.shared.deadletters.reconciling import DECISION, DONE, KEYED, NOT_DONE


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
