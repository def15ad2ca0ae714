"""What the looks of a long wait leave behind."""

from datetime import timedelta
from typing import ClassVar

from shared.calls.calling import MustWait
from shared.jobs import JobState
from shared.messages import JobMessage
from shared.ports import RowKind
from shared.tasks.base import TaskContext, TaskInput, TaskResult, Waiting
from shared.worker.run import Worker
from tests.support.application import TASK, build_services, new_job, store
from tests.support.fakes import World


class Patient:
    """Waits for the outside until it was run so many times."""

    name: ClassVar[str] = TASK
    max_input_bytes: ClassVar[int] = 1024

    def __init__(self, runs: int) -> None:
        self._left = runs

    async def run(self, _input: TaskInput, _context: TaskContext) -> TaskResult | Waiting:
        self._left -= 1
        return Waiting("not_ready") if self._left else TaskResult(b"ready", "text/plain")


async def test_the_timeline_does_not_grow_with_the_looks_of_a_wait() -> None:
    world = World()
    worker = Worker(build_services(world, Patient(6)))
    job = await store(world, new_job(world))
    for turn in range(6):
        message = JobMessage.for_job(job, turn=turn)
        await worker.handle(message.body(), message.properties(), message.message_id)
        world.clock.advance(600)
    stored = world.jobs.job(job.job_id)
    assert (stored.state, stored.claim) == (JobState.SUCCEEDED, 6)
    events = [row.data["event"] for row in await world.jobs.rows(job.job_id, RowKind.TIMELINE)]
    assert events == ["started", "awaiting_result", "succeeded"]


class Unlucky:
    """Comes to a provider that rests, so many times."""

    name: ClassVar[str] = TASK
    max_input_bytes: ClassVar[int] = 1024

    def __init__(self, world: World, times: int) -> None:
        self._world = world
        self._left = times

    async def run(self, _input: TaskInput, _context: TaskContext) -> TaskResult | Waiting:
        if self._left:
            self._left -= 1
            raise MustWait("provider_resting", self._world.clock.now() + timedelta(seconds=30))
        return TaskResult(b"ready", "text/plain")


async def test_the_timeline_tells_once_that_a_job_was_put_off() -> None:
    world = World()
    worker = Worker(build_services(world, Unlucky(world, 5)))
    job = await store(world, new_job(world))
    message = JobMessage.for_job(job)
    for _ in range(6):
        await worker.handle(message.body(), message.properties(), message.message_id)
        world.clock.advance(600)
    stored = world.jobs.job(job.job_id)
    assert (stored.state, stored.attempt) == (JobState.SUCCEEDED, 0)
    rows = await world.jobs.rows(job.job_id, RowKind.TIMELINE)
    events = [(row.data["event"], row.data.get("code")) for row in rows]
    assert events == [("started", None), ("put_off", "provider_resting"), ("succeeded", None)]
