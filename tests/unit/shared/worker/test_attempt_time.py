"""An attempt's time runs from its begin on, the reading of its input included."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.effects.contract import Done
from shared.errors import NoTimeLeft
from shared.ports import RowKind
from shared.tasks.base import TaskContext, TaskInput, TaskResult
from shared.worker.attempt import Ended, attempt
from shared.worker.claims import Claim
from tests.support.application import TASK, ScriptedTask, build_services, new_job, store
from tests.support.fakes import World
from tests.support.outside import BLIND, CountingProvider

ATTEMPT = timedelta(seconds=60)
ORDER = replace(BLIND, call_timeout=ATTEMPT / 2)


class Ordering(ScriptedTask):
    """Orders something of a provider that nobody but a person could ask about it."""

    def __init__(self) -> None:
        super().__init__()
        self.provider = CountingProvider(ORDER.provider)

    async def run(self, task_input: TaskInput, context: TaskContext) -> TaskResult:
        done: Done = await context.effects.perform(ORDER, {}, self.provider)
        return TaskResult(done.external_id.encode(), "text/plain")


async def attempted(world: World, task: Ordering, reading: timedelta) -> Ended:
    """One attempt whose input takes `reading` to be read."""
    services = build_services(world, task)
    policy = replace(services.pipeline.tasks[TASK], attempt_timeout=ATTEMPT)
    job = await store(world, new_job(world))

    async def slow() -> None:
        world.clock.advance(reading)

    world.blobs.before("read", slow)
    snapshot = await world.jobs.load(job.job_id)
    assert snapshot is not None
    lease = world.clock.now() + ATTEMPT + timedelta(seconds=30)
    return await attempt(Claim(services, snapshot, lease), task, policy)


@pytest.mark.parametrize("seconds", [29.5, 45, 59])
async def test_no_order_is_begun_that_the_attempt_s_end_could_cut(world: World, seconds: float) -> None:
    task = Ordering()
    assert isinstance(await attempted(world, task, timedelta(seconds=seconds)), NoTimeLeft)
    [job] = world.jobs.all_jobs()
    assert (task.provider.calls, await world.jobs.rows(job.job_id, RowKind.EFFECT)) == (0, [])


async def test_an_order_that_fits_is_made(world: World) -> None:
    task = Ordering()
    assert isinstance(await attempted(world, task, timedelta(seconds=20)), TaskResult)
    assert task.provider.calls == 1
