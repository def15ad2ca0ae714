"""The list of results that wait for a review says what the jobs say."""

from datetime import timedelta

import pytest

from shared.errors import StorageUnavailable
from shared.failpoints import Point
from shared.finishing import finish
from shared.jobs import Job, Review
from shared.pipeline import Pipeline
from shared.reviews import review
from shared.services import Services
from shared.sweep import Sweep
from tests.support.application import build_services, pipeline
from tests.support.fakes import World
from tests.support.kills import killed_at
from tests.support.notify import telling_pipeline
from tests.support.pending_results import DECISION, VERDICTS, pending_job, run_messages


@pytest.fixture
def services(world: World) -> Services:
    return build_services(world, pipeline=telling_pipeline())


def waiting(world: World) -> list[str]:
    return [each.job_id for each in world.reviews.all_reviews()]


async def listed_job(services: Services, world: World) -> Job:
    """A job whose worker has just finished it."""
    job = await pending_job(world)
    await finish(services, job, job.release)
    return job


async def test_what_waits_is_listed_with_since_when(world: World, services: Services) -> None:
    world.clock.advance(60)
    job = await pending_job(world, released_at=world.clock.now() - timedelta(minutes=1))
    world.clock.advance(60)
    for _ in range(2):
        await finish(services, job, job.release)
    [found] = world.reviews.all_reviews()
    assert (found.job_id, found.since, found.released_at) == (job.job_id, job.updated_at, job.released_at)
    assert (found.task_type, found.content_type, found.size) == (job.task_type, "text/plain", 1)


async def test_what_needs_no_review_costs_the_list_nothing(world: World, services: Services) -> None:
    await finish(services, await pending_job(world, review=None), 0)
    assert world.reviews.calls == []


@pytest.mark.parametrize("policies", [telling_pipeline(), pipeline()], ids=["told", "not told"])
@pytest.mark.parametrize("verdict", VERDICTS)
async def test_a_verdict_takes_the_job_off_the_list(
    world: World, policies: Pipeline, verdict: Review
) -> None:
    services = build_services(world, pipeline=policies)
    job = await listed_job(services, world)
    assert waiting(world) == [job.job_id]
    await review(services, job.job_id, DECISION, verdict)
    assert waiting(world) == []


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("point", [Point.REVIEW_BEFORE_BATCH, Point.REVIEW_AFTER_BATCH])
async def test_after_a_kill_the_list_says_what_the_job_says(
    world: World, services: Services, point: Point, verdict: Review
) -> None:
    job = await listed_job(services, world)
    async with killed_at(point):
        await review(services, job.job_id, DECISION, verdict)
    for _ in range(2):
        world.clock.advance(timedelta(minutes=3))
        await Sweep(services).run()
        await run_messages(services, world)
    pending = world.jobs.job(job.job_id).review is Review.PENDING
    assert waiting(world) == ([job.job_id] if pending else [])
    assert world.open.keys() == set()


async def test_a_sweep_that_looked_before_the_verdict_leaves_the_row_that_guards_it(
    world: World, services: Services
) -> None:
    job = await listed_job(services, world)
    async with killed_at(Point.REVIEW_BEFORE_BATCH):
        await review(services, job.job_id, DECISION, Review.APPROVED)
    world.clock.advance(timedelta(minutes=3))

    async def judge() -> None:
        async with killed_at(Point.REVIEW_AFTER_BATCH):
            await review(services, job.job_id, DECISION, Review.APPROVED)

    world.reviews.before("put", judge)  # the sweep has read that the result is pending
    for _ in range(2):
        await Sweep(services).run()
        world.clock.advance(timedelta(minutes=3))
        await run_messages(services, world)
    assert world.notifier.ids() == [f"{job.job_id}-0-succeeded"]
    await Sweep(services).run()
    assert (world.open.keys(), waiting(world)) == (set(), [])
    assert [entry.job_id for entry in world.retention.all_ended()] == [job.job_id]


@pytest.mark.parametrize("when", ["put", "load"])
async def test_a_verdict_while_the_job_is_being_listed_leaves_it_off_the_list(
    world: World, services: Services, when: str
) -> None:
    job = await pending_job(world)

    async def decide() -> None:
        await review(services, job.job_id, DECISION, Review.REJECTED)

    (world.reviews if when == "put" else world.jobs).before(when, decide)
    await finish(services, job, job.release)
    assert waiting(world) == []


async def test_what_a_kill_kept_off_the_list_the_sweep_lists(world: World, services: Services) -> None:
    job = await pending_job(world)
    await world.open.put(job.job_id, job.release)
    world.reviews.fail_next("put")
    with pytest.raises(StorageUnavailable):
        await finish(services, job, job.release)
    world.clock.advance(timedelta(minutes=3))
    await Sweep(services).run()
    assert (waiting(world), world.open.keys()) == ([job.job_id], set())
