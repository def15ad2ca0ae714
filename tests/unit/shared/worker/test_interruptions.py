"""Runs that an outage of storage cuts short: what they leave on the job's row and its timeline."""

from collections import Counter
from datetime import timedelta

from shared.errors import TransientError
from shared.jobs import Job, JobState
from shared.messages import JobMessage
from shared.ports import RowKind
from shared.worker.run import Worker
from tests.support.application import ScriptedTask, build_services, new_job, store
from tests.support.fakes import World


async def handle(world: World, worker: Worker, job: Job) -> Job:
    message = JobMessage.for_job(world.jobs.job(job.job_id))
    await worker.handle(message.body(), message.properties(), message.message_id)
    world.clock.advance(timedelta(minutes=2))
    return world.jobs.job(job.job_id)


async def events(world: World, job: Job) -> Counter[str]:
    rows = await world.jobs.rows(job.job_id, RowKind.TIMELINE)
    return Counter(row.data["event"] for row in rows)


async def test_however_long_it_lasts_an_outage_is_told_once_in_the_timeline(world: World) -> None:
    worker, job = Worker(build_services(world)), await store(world, new_job(world))
    world.blobs.down = True
    for interrupted in range(1, 10):
        now = await handle(world, worker, job)
        assert (now.state, now.attempt, now.crashes) == (JobState.RETRY_SCHEDULED, 0, 0)
        assert now.interruptions == interrupted
    world.blobs.down = False
    assert (await handle(world, worker, job)).state is JobState.SUCCEEDED
    assert await events(world, job) == {"started": 1, "interrupted": 1, "succeeded": 1}
    assert len(world.telemetry.observed("start_delay_seconds")) == 1


async def test_after_a_retry_another_outage_is_told_again(world: World) -> None:
    task = ScriptedTask()
    task.script = [TransientError()]
    worker, job = Worker(build_services(world, task)), await store(world, new_job(world))
    for down in (True, False, True, False):  # an outage, a failed run, an outage, a good one
        world.blobs.down = down
        await handle(world, worker, job)
    now = world.jobs.job(job.job_id)
    assert (now.state, now.interruptions) == (JobState.SUCCEEDED, 1)
    assert await events(world, job) == {
        "started": 2,
        "interrupted": 2,
        "retry_scheduled": 1,
        "succeeded": 1,
    }
