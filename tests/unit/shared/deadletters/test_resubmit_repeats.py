"""Resubmitting twice, at once, with answers lost, kills and no bus: one release."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.deadletters.close import close
from shared.deadletters.refusals import ChangedMeanwhile, IdempotencyKeyReused
from shared.deadletters.release import Released
from shared.deadletters.resubmit import Resubmission, resubmit
from shared.errors import Conflict, StorageUnavailable
from shared.failpoints import Point
from shared.jobs import JobState
from shared.services import Services
from shared.sweep import Sweep
from tests.support.cases import filed_job
from tests.support.fakes import World
from tests.support.kills import killed_at
from tests.unit.shared.deadletters.resubmitting import DECISION, KEYED, again


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
