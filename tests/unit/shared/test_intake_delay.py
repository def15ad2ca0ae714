"""A route's delay: the start is put off, and no repeat of the event brings it forward."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.errors import QueueUnavailable
from shared.failpoints import Point
from shared.inputs import place_input
from shared.jobs import JobState
from shared.services import Services
from shared.sweep import Sweep
from tests.support.application import SOURCE, build_intake, build_services, note, pipeline
from tests.support.cases import snapshot_of
from tests.support.fakes import World
from tests.support.kills import killed_at
from tests.support.notify import succeeded_job, telling_pipeline
from tests.unit.shared.one_event import JOB_ID, receive

DELAY = timedelta(minutes=30)


@pytest.fixture
def services(world: World) -> Services:
    usual = pipeline()
    source = usual.sources[SOURCE]
    routes = tuple(replace(route, delay=DELAY) for route in source.routes)
    return build_services(world, pipeline=replace(usual, sources={SOURCE: replace(source, routes=routes)}))


async def test_the_job_starts_after_the_delay_and_its_deadline_counts_from_there(
    world: World, services: Services
) -> None:
    await receive(build_intake(services), world)
    start = world.clock.now() + DELAY
    job = world.jobs.job(JOB_ID)
    assert (job.state, job.not_before, job.released_at) == (JobState.QUEUED, start, start)
    assert world.bus.take_due() == []
    world.clock.advance(DELAY)
    assert len(world.bus.take_due()) == 1


@pytest.mark.parametrize("later", [timedelta(0), timedelta(minutes=5), timedelta(minutes=20)])
async def test_a_duplicate_does_not_bring_it_forward(
    world: World, services: Services, later: timedelta
) -> None:
    await receive(build_intake(services), world)
    world.clock.advance(later)
    assert (await receive(build_intake(services), world)).duplicate
    assert world.jobs.job(JOB_ID).not_before == world.clock.now() - later + DELAY
    assert world.bus.take_due() == []
    world.clock.advance(DELAY - later - timedelta(seconds=1))
    assert world.bus.take_due() == []
    world.clock.advance(1)
    assert len(world.bus.take_due()) >= 1


async def test_a_first_send_that_failed_is_made_good_for_the_same_time(
    world: World, services: Services
) -> None:
    world.bus.fail_next("send")
    with pytest.raises(QueueUnavailable):
        await receive(build_intake(services), world)
    world.clock.advance(60)
    await receive(build_intake(services), world)
    [sent] = world.bus.waiting()
    assert sent.at == world.clock.now() - timedelta(seconds=60) + DELAY


async def test_the_sweep_waits_for_the_delay_before_it_misses_the_message(
    world: World, services: Services
) -> None:
    async with killed_at(Point.INTAKE_BEFORE_SEND):
        await receive(build_intake(services), world)
    world.clock.advance(DELAY - timedelta(seconds=1))
    await Sweep(services).run()
    assert world.bus.sent == []
    world.clock.advance(timedelta(minutes=2))
    await Sweep(services).run()
    assert len(world.bus.take_due()) == 1


async def test_a_repeat_of_what_was_deleted_stores_nothing_again(world: World) -> None:
    services = build_services(world)
    text = "A long note. " * 4000
    await receive(build_intake(services), world, note(text))
    snapshot = await snapshot_of(world, JOB_ID)
    gone = replace(snapshot.job, state=JobState.SUCCEEDED, inputs_gone=True)
    await world.jobs.commit(snapshot, gone)
    ref = place_input(JOB_ID, text.encode()).ref
    await world.blobs.delete_below(f"inputs/{JOB_ID}/")
    await receive(build_intake(services), world, note(text))
    assert ref not in world.blobs.refs()


async def test_a_repeat_of_a_job_whose_end_is_owed_leaves_its_open_row(world: World) -> None:
    services = build_services(world, pipeline=telling_pipeline())
    job = await succeeded_job(services, world)
    await receive(build_intake(services), world)
    assert world.open.keys() == {(job.job_id, 0)}
