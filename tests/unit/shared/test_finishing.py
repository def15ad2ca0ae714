"""Tidying up: the list of cases says what the rows say, and the open row goes last."""

import pytest

from shared.errors import StorageUnavailable
from shared.finishing import finish, settle_cases
from shared.jobs import JobState
from shared.ports import CaseState
from tests.support.application import build_services, new_job, store
from tests.support.cases import filed_job, snapshot_of
from tests.support.fakes import World


@pytest.fixture
def world() -> World:
    return World()


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
