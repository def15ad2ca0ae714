"""The list of what waits for a review is measured, and in time says what the jobs say."""

import pytest

from shared.finishing import settle_review
from shared.jobs import Job, JobState, Review
from shared.pending_reviews import pending_review
from shared.records import RecordUnreadable
from shared.services import Services
from shared.watching_reviews import CHECKED, watch_reviews
from tests.support.application import new_job, store
from tests.support.fakes import World


async def listed_job(world: World, number: int, review: Review = Review.PENDING) -> Job:
    job = new_job(world, f"evt_{number}", state=JobState.SUCCEEDED, review=review)
    await store(world, job, opened=False)
    await world.reviews.put(pending_review(job))
    return job


async def listed(world: World) -> set[str]:
    return {entry.job_id for entry in (await world.reviews.page(None, limit=99, cursor=None)).reviews}


async def test_it_measures_how_many_wait_and_how_long(world: World, services: Services) -> None:
    await watch_reviews(services)
    for number in range(2):
        await listed_job(world, number)
        world.clock.advance(60)
    await watch_reviews(services)
    assert world.telemetry.observed("reviews_pending") == [0, 2]
    assert world.telemetry.observed("reviews_oldest_seconds") == [0.0, 120.0]
    assert len(await listed(world)) == 2


async def test_a_job_that_a_frozen_worker_listed_after_its_verdict_is_taken_off(
    world: World, services: Services
) -> None:
    waiting = await listed_job(world, 1)
    judged = await listed_job(world, 2, Review.APPROVED)
    await watch_reviews(services)
    assert await listed(world) == {waiting.job_id}
    await settle_review(services, judged)
    assert await listed(world) == {waiting.job_id}


async def test_a_run_reads_a_few_jobs_and_others_the_next_time(world: World, services: Services) -> None:
    jobs = [await listed_job(world, number, Review.REJECTED) for number in range(CHECKED + 3)]
    world.randomness.next_fractions = [0.99, 0.0]
    await watch_reviews(services)
    left = await listed(world)
    assert len(left) == len(jobs) - CHECKED
    await watch_reviews(services)
    assert await listed(world) == set()


async def test_an_unreadable_job_keeps_the_run_from_none_of_the_others(
    world: World, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, judged = await listed_job(world, 1), await listed_job(world, 2, Review.APPROVED)
    load = services.jobs.load

    async def unreadable(job_id: str) -> object:
        if job_id == broken.job_id:
            raise RecordUnreadable("A stored record is not JSON.")
        return await load(job_id)

    monkeypatch.setattr(services.jobs, "load", unreadable)
    world.randomness.next_fractions = [0.0]
    await watch_reviews(services)
    assert await listed(world) == {broken.job_id}
    assert judged.job_id not in await listed(world)
    assert world.telemetry.counted("sweep_failures") == 1
