"""A death is announced once its case is filed; a receiver that fails keeps no case from anyone."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.deadletters.close import close
from shared.deadletters.decisions import Decision
from shared.deadletters.handler import DeadLetterHandler
from shared.deadletters.resubmit import Resubmission, resubmit
from shared.failpoints import Point
from shared.jobs import Job, JobState
from shared.messages import JobMessage
from shared.notify.notifier import NotTold
from shared.notify.timing import POSTING_LEASE
from shared.services import Services
from shared.sweep import Sweep
from tests.support.application import build_services, new_job, store
from tests.support.fakes import World
from tests.support.kills import killed_at
from tests.support.notify import buried_job, telling_pipeline

DECISION = Decision(operator="ada", reason="It is there now.")
DOWN = NotTold(code="receiver_failed")


@pytest.fixture
def services(world: World) -> Services:
    return build_services(world, pipeline=telling_pipeline())


async def handle(services: Services, job: Job) -> None:
    sent = JobMessage.for_job(job)
    properties = {**sent.properties(), "DeadLetterReason": "MaxDeliveryCountExceeded"}
    await DeadLetterHandler(services).handle(sent.body(), properties, 7)


async def handle_all(services: Services, world: World) -> None:
    """What becomes of the messages of dead jobs: the worker raises until they are dead letters."""
    for sent in world.bus.take_due():
        await handle(services, world.jobs.job(sent.message.job_id))


async def test_the_case_is_filed_before_anybody_is_told(world: World, services: Services) -> None:
    job = await buried_job(services, world)
    async with killed_at(Point.NOTIFY_BEFORE_POST):
        await handle(services, job)
    assert len(world.cases.all_cases()) == 1
    assert world.jobs.job(job.job_id).case_filed
    world.clock.advance(POSTING_LEASE)
    await handle(services, job)
    assert world.notifier.ids() == [f"{job.job_id}-0-dead"]
    assert world.open.keys() == set()


async def test_an_abandoned_job_is_announced_too(world: World, services: Services) -> None:
    job = await store(world, new_job(world))
    await handle(services, job)
    [telling] = world.notifier.tellings
    assert telling.announcement.data["code"] == "crashed"


async def test_a_receiver_that_fails_is_told_by_a_later_message(world: World, services: Services) -> None:
    job = await buried_job(services, world)
    world.notifier.script = [DOWN, DOWN]
    await handle(services, job)
    assert len(world.cases.all_cases()) == 1
    assert world.open.keys() == {(job.job_id, 0)}
    for _ in range(2):
        [waiting] = world.bus.waiting()
        assert waiting.at is not None
        world.clock.advance(waiting.at - world.clock.now())
        await handle_all(services, world)
    assert world.notifier.ids() == [f"{job.job_id}-0-dead"] * 3
    assert world.open.keys() == set()


async def test_the_sweep_files_and_leaves_the_telling_to_a_message(world: World, services: Services) -> None:
    job = await buried_job(services, world)
    for _ in range(2):
        world.clock.advance(timedelta(minutes=3))
        await Sweep(services).run()
    assert world.jobs.job(job.job_id).case_filed
    assert world.notifier.tellings == []
    await handle_all(services, world)
    assert len(world.notifier.tellings) == 1
    assert world.open.keys() == set()


@pytest.mark.parametrize(
    "point",
    [
        Point.CASE_AFTER_JOB_MARKED,
        Point.NOTIFY_AFTER_POST,
        Point.NOTIFY_AFTER_TIMELINE,
        Point.NOTIFY_AFTER_SETTLED,
    ],
)
async def test_a_kill_without_another_delivery_is_made_good_by_the_sweep(
    world: World, services: Services, point: Point
) -> None:
    job = await buried_job(services, world)
    async with killed_at(point):
        await handle(services, job)
    for _ in range(3):
        world.clock.advance(timedelta(minutes=5))
        await Sweep(services).run()
        await handle_all(services, world)
    assert set(world.notifier.ids()) == {f"{job.job_id}-0-dead"}
    assert world.open.keys() == set()
    assert len(world.cases.all_cases()) == 1


async def test_a_closed_case_is_still_announced(world: World, services: Services) -> None:
    job = await buried_job(services, world)
    world.notifier.script = [DOWN]
    await handle(services, job)
    told = len(world.notifier.tellings)
    await close(services, job.job_id, DECISION)
    assert len(world.notifier.tellings) == told, "an operator must not wait for a receiver"
    assert world.open.keys() == {(job.job_id, 0)}


async def test_what_a_job_has_left_behind_is_not_announced(world: World, services: Services) -> None:
    job = await buried_job(services, world)
    world.notifier.script = [DOWN]
    await handle(services, job)
    await resubmit(services, job.job_id, DECISION, Resubmission())
    world.clock.advance(timedelta(hours=1))
    await Sweep(services).run()
    assert world.open.keys() == {(job.job_id, 1)}
    snapshot = await world.jobs.load(job.job_id)
    assert snapshot is not None
    done = replace(snapshot.job, state=JobState.SUCCEEDED)
    await world.jobs.commit(snapshot, done)
    assert len(world.notifier.tellings) == 1
