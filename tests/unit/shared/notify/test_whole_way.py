"""From the queue's message to the receiver, through the worker: told once whatever dies on the way."""

from dataclasses import replace

import pytest

from shared.deadletters.decisions import Decision
from shared.errors import DeadLettered
from shared.failpoints import Point
from shared.jobs import JobState, Review
from shared.messages import JobMessage
from shared.notify.notifier import NotTold
from shared.pipeline.policies import Publish
from shared.reviews import review
from shared.services import Services
from shared.sweep import Sweep
from shared.worker.run import Worker
from tests.support.application import TASK, ScriptedTask, build_services, new_job, store
from tests.support.fakes import World
from tests.support.kills import killed_at
from tests.support.notify import telling_pipeline


def services_of(world: World, publish: Publish = Publish.AT_ONCE) -> Services:
    policies = telling_pipeline()
    task = replace(policies.tasks[TASK], publish=publish)
    return build_services(world, ScriptedTask(), pipeline=replace(policies, tasks={TASK: task}))


async def start(world: World) -> str:
    job = await store(world, new_job(world))
    await world.bus.send(JobMessage.for_job(job))
    return job.job_id


async def work(services: Services, world: World, minutes: int = 1) -> None:
    """Run what is due, minute by minute, with the sweep in between."""
    for _ in range(minutes):
        for sent in world.bus.take_due():
            await Worker(services).handle(sent.body, sent.properties, sent.message_id)
        world.clock.advance(60)
        await Sweep(services).run()


async def test_a_success_is_told_and_leaves_nothing_open(world: World) -> None:
    job_id = await start(world)
    await work(services_of(world), world)
    [telling] = world.notifier.tellings
    assert telling.announcement.data["result_ref"].startswith(f"results/{job_id}/")
    assert world.open.keys() == set()
    assert [entry.job_id for entry in world.retention.all_ended()] == [job_id]


async def test_a_receiver_that_is_away_for_a_while_costs_the_job_nothing(world: World) -> None:
    job_id = await start(world)
    world.notifier.script = [NotTold(code="no_answer")] * 5
    await work(services_of(world), world, minutes=30)
    job = world.jobs.job(job_id)
    assert (job.state, job.attempt, job.crashes) == (JobState.SUCCEEDED, 0, 0)
    assert world.notifier.ids() == [f"{job_id}-0-succeeded"] * 6
    assert world.open.keys() == set()


@pytest.mark.parametrize(
    "point",
    [
        Point.WORKER_AFTER_SUCCESS,
        Point.NOTIFY_BEFORE_POST,
        Point.NOTIFY_AFTER_POST,
        Point.NOTIFY_AFTER_TIMELINE,
        Point.NOTIFY_AFTER_SETTLED,
        Point.FINISH_BEFORE_OPEN_ROW,
    ],
)
async def test_whatever_dies_the_sweep_has_it_told_with_one_id(world: World, point: Point) -> None:
    services, job_id = services_of(world), await start(world)
    async with killed_at(point):
        await work(services, world)
    await work(services, world, minutes=10)
    assert set(world.notifier.ids()) == {f"{job_id}-0-succeeded"}
    assert len(world.notifier.ids()) <= 2
    assert world.open.keys() == set()


async def test_a_result_under_review_is_told_of_once_it_is_approved(world: World) -> None:
    services, job_id = services_of(world, Publish.AFTER_REVIEW), await start(world)
    await work(services, world, minutes=5)
    assert world.jobs.job(job_id).review is Review.PENDING
    assert (world.notifier.tellings, world.open.keys()) == ([], set())
    assert [each.job_id for each in world.reviews.all_reviews()] == [job_id]
    await review(services, job_id, Decision(operator="ada", reason="It is fit."), Review.APPROVED)
    await work(services, world, minutes=5)
    assert world.notifier.ids() == [f"{job_id}-0-succeeded"]
    assert (world.reviews.all_reviews(), world.open.keys()) == ([], set())


async def test_a_death_owes_its_announcement_from_the_very_batch(world: World) -> None:
    services = services_of(world)
    job = await store(world, new_job(world, input_ref=None))
    message = JobMessage.for_job(job)
    with pytest.raises(DeadLettered):
        await Worker(services).handle(message.body(), message.properties(), "id")
    for _ in range(2):
        world.clock.advance(180)
        await Sweep(services).run()
    assert world.jobs.job(job.job_id).case_filed
    assert world.open.keys() == {(job.job_id, 0)}
    assert [sent.message.job_id for sent in world.bus.take_due()] == [job.job_id]
