"""What a caller is told whose time is over, and how much an id leaves that comes with other bodies."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from shared.acceptance import Acceptor
from shared.errors import QueueUnavailable, StorageUnavailable
from shared.jobs import Job, JobState, Review
from shared.ports import RowKind
from shared.services import Services
from tests.support.application import build_services, new_job, store
from tests.support.fakes import World
from tests.support.notify import succeeded_job, telling_pipeline


async def test_a_job_whose_sending_failed_is_not_being_sent_any_more(
    world: World, services: Services
) -> None:
    acceptor = Acceptor(services)
    world.bus.fail_next("send")
    with pytest.raises(QueueUnavailable):
        await acceptor.accept(new_job(world), [])
    assert isinstance(acceptor.gave_up(), StorageUnavailable)
    await acceptor.accept(new_job(world, "evt_2"), [])
    assert isinstance(acceptor.gave_up(), StorageUnavailable)


async def test_a_job_that_was_being_sent_when_the_time_was_over_is_told_as_such(
    world: World, services: Services
) -> None:
    async def hang() -> None:
        limit.reschedule(asyncio.get_running_loop().time())
        await asyncio.Event().wait()

    acceptor = Acceptor(services)
    world.bus.before("send", hang)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(None) as limit:
            await acceptor.accept(new_job(world), [])
    assert isinstance(acceptor.gave_up(), QueueUnavailable)


async def test_other_bodies_under_one_id_leave_few_rows_however_many_they_are(
    world: World, services: Services
) -> None:
    job = new_job(world)
    await Acceptor(services).accept(job, [])
    for number in [*range(100), *range(100)]:
        other = replace(job, body_sha256=f"{number:064x}"[::-1])
        acceptance = await Acceptor(services).accept(other, [])
        assert (acceptance.duplicate, acceptance.same_body) == (True, number == 0)
    rows = await world.jobs.rows(job.job_id, RowKind.TIMELINE)
    assert {row.data["event"] for row in rows} == {"same_id_other_body"}
    assert len(rows) == 16


async def ended(world: World, **changes: Any) -> Job:
    """A job whose worker died after its last batch: nothing but the open row tells of what is left to do."""
    given: dict[str, Any] = {"state": JobState.SUCCEEDED, "claim": 1}
    return await store(world, new_job(world, **(given | changes)))


async def test_a_copy_of_a_finished_job_makes_good_what_its_worker_left_undone(
    world: World, services: Services
) -> None:
    job = await ended(world)
    await Acceptor(services).accept(new_job(world), [])
    assert [entry.job_id for entry in world.retention.all_ended()] == [job.job_id]
    assert (world.open.keys(), world.bus.sent) == (set(), [])


async def test_a_copy_does_not_keep_a_result_off_the_list_of_reviews(
    world: World, services: Services
) -> None:
    job = await ended(world, review=Review.PENDING)
    await Acceptor(services).accept(new_job(world), [])
    assert [review.job_id for review in world.reviews.all_reviews()] == [job.job_id]
    assert world.open.keys() == set()


async def test_what_is_still_owed_keeps_the_open_row(world: World) -> None:
    services = build_services(world, pipeline=telling_pipeline())
    job = await succeeded_job(services, world)
    await Acceptor(services).accept(new_job(world), [])
    assert world.open.keys() == {(job.job_id, 0)}
    assert world.retention.all_ended() == []


async def test_a_copy_of_a_job_that_was_resubmitted_leaves_its_release_alone(
    world: World, services: Services
) -> None:
    job = await store(world, new_job(world, release=1))
    await Acceptor(services).accept(new_job(world), [])
    assert (world.open.keys(), world.bus.sent) == ({(job.job_id, 1)}, [])
