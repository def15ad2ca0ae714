"""Tidying up: the list of cases says what the rows say, and the open row goes last."""

import pytest

from shared.deadletters.ports import CaseState
from shared.errors import StorageUnavailable
from shared.failpoints import Point
from shared.finishing import finish, settle_cases, tidy
from shared.jobs import JobState
from shared.notify.notifier import NotTold
from shared.retention.ports import EndedJob
from tests.support.application import build_services, new_job, store
from tests.support.cases import filed_job, snapshot_of
from tests.support.fakes import World
from tests.support.kills import killed_at
from tests.support.notify import succeeded_job, telling_pipeline


async def test_only_the_named_releases_row_goes(world: World) -> None:
    job = await store(world, new_job(world, release=1, state=JobState.SUCCEEDED))
    await world.open.put(job.job_id, 0)
    await finish(build_services(world), job, 0)
    assert world.open.keys() == {(job.job_id, 1)}


async def test_an_open_case_of_a_dead_job_stays_open(world: World) -> None:
    services = build_services(world)
    job = await filed_job(services, world)
    await settle_cases(services, job)
    assert world.cases.all_cases()[0].state is CaseState.OPEN


@pytest.mark.parametrize(
    ("state", "release", "expected"),
    [(JobState.CLOSED, 0, CaseState.CLOSED), (JobState.QUEUED, 1, CaseState.RESUBMITTED)],
)
async def test_a_list_that_a_crash_left_behind_is_repaired_from_the_row(
    world: World, state: JobState, release: int, expected: CaseState
) -> None:
    services = build_services(world)
    job = await filed_job(services, world)
    moved = job.moved(state, world.clock.now(), release=release)
    await world.jobs.commit(await snapshot_of(world, job.job_id), moved)
    await settle_cases(services, moved)
    await settle_cases(services, moved)
    assert world.cases.all_cases()[0].state is expected
    assert world.cases.calls.count("decide") == 1


async def test_the_open_row_stays_while_the_list_could_not_be_set_right(world: World) -> None:
    services = build_services(world)
    job = await filed_job(services, world)
    await world.open.put(job.job_id, 1)
    moved = job.moved(JobState.CLOSED, world.clock.now())
    world.cases.fail_next("decide")
    with pytest.raises(StorageUnavailable):
        await finish(services, moved, 1)
    assert world.open.keys() == {(job.job_id, 1)}


async def test_what_is_owed_is_told_before_the_open_row_goes(world: World) -> None:
    services = build_services(world, pipeline=telling_pipeline())
    job = await succeeded_job(services, world)
    async with killed_at(Point.FINISH_BEFORE_OPEN_ROW):
        await finish(services, job, 0)
    assert (len(world.notifier.tellings), world.open.keys()) == (1, {(job.job_id, 0)})
    await finish(services, job, 0)
    assert (len(world.notifier.tellings), world.open.keys()) == (1, set())


async def test_while_something_is_owed_the_open_row_stays_and_the_message_comes_again(world: World) -> None:
    services = build_services(world, pipeline=telling_pipeline())
    job = await succeeded_job(services, world)
    world.notifier.script = [NotTold(code="receiver_failed")]
    await finish(services, job, 0)
    assert world.open.keys() == {(job.job_id, 0)}
    [waiting] = world.bus.waiting()
    assert waiting.at is not None
    assert waiting.at > world.clock.now()
    assert world.bus.take_due() == []
    world.clock.advance(waiting.at - world.clock.now())
    [come] = world.bus.take_due()
    await finish(services, job, come.message.release)
    assert (len(world.notifier.tellings), world.open.keys()) == (2, set())


async def test_a_bus_that_is_away_leaves_the_next_attempt_to_the_sweep(world: World) -> None:
    services = build_services(world, pipeline=telling_pipeline())
    job = await succeeded_job(services, world)
    world.notifier.script, world.bus.down = [NotTold(code="receiver_failed")], True
    await finish(services, job, 0)
    assert world.open.keys() == {(job.job_id, 0)}


async def test_an_earlier_release_is_tidied_up_without_a_telling(world: World) -> None:
    services = build_services(world, pipeline=telling_pipeline())
    job = await succeeded_job(services, world, release=1)
    await world.open.put(job.job_id, 0)
    await finish(services, job, 0)
    assert (world.notifier.tellings, world.open.keys()) == ([], {(job.job_id, 1)})


async def test_a_job_that_ended_is_noted_for_its_day_and_no_other_job_is(world: World) -> None:
    services = build_services(world)
    job = await store(world, new_job(world, state=JobState.SUCCEEDED))
    await finish(services, job, 0)
    dead = await filed_job(services, world, "evt_2")
    await tidy(services, dead, 0)
    assert world.retention.all_ended() == [EndedJob(job_id=job.job_id, day=world.clock.now().date())]


async def test_the_open_row_stays_while_the_end_could_not_be_noted(world: World) -> None:
    job = await store(world, new_job(world, state=JobState.SUCCEEDED))
    world.retention.fail_next("put")
    with pytest.raises(StorageUnavailable):
        await finish(build_services(world), job, 0)
    assert world.open.keys() == {(job.job_id, 0)}
