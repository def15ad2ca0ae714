"""A worker that dies anywhere: the next delivery and the sweep leave one result, one case, a true index."""

from typing import Any

import pytest

from shared.deadletters.handler import DeadLetterHandler
from shared.errors import (
    AfterhookError,
    DeadLettered,
    PermanentError,
    QueueUnavailable,
    StorageUnavailable,
    TransientError,
)
from shared.failpoints import Point
from shared.jobs import Job, JobState
from shared.messages import JobMessage
from shared.ports import RowKind
from shared.sweep import Sweep
from shared.tasks.base import TaskResult
from shared.worker.results import store_result
from shared.worker.run import Worker
from tests.support.application import ScriptedTask, build_services, new_job, store
from tests.support.fakes import World
from tests.support.kills import killed_at
from tests.support.protocol.checks import check_settled

LEASE = 95.0
SUCCESS = [
    Point.WORKER_BEFORE_CLAIM,
    Point.WORKER_AFTER_CLAIM,
    Point.TASK_RUNNING,
    Point.WORKER_BEFORE_RESULT_BLOB,
    Point.WORKER_AFTER_RESULT_BLOB,
    Point.WORKER_AFTER_SUCCESS,
    Point.WORKER_AFTER_OPEN_ROW_REMOVED,
]
RETRY = [Point.WORKER_AFTER_TURN_SENT, Point.WORKER_AFTER_TURN_WRITTEN]
DEATH = [Point.WORKER_BEFORE_DEAD, Point.WORKER_AFTER_DEAD]
WRITES = ["jobs.commit", "blobs.put_if_absent", "open.remove", "bus.send"]


class Flow:
    """One job, its first message, and whatever is sent afterwards."""

    def __init__(self, script: list[Exception | bytes] | None = None) -> None:
        self.world = World()
        self.task = ScriptedTask()
        self.task.script = list(script or [])
        self.services = build_services(self.world, self.task)

    async def deliver(self, message: JobMessage) -> None:
        """As the broker does: again after a raise, and at last to the dead-letter queue."""
        for _ in range(5):
            try:
                await Worker(self.services).handle(message.body(), message.properties(), message.message_id)
            except AfterhookError:
                continue
            return
        for _ in range(2):  # the dead-letter queue knows no limit; one planted fault asks for a second time
            try:
                await DeadLetterHandler(self.services).handle(message.body(), message.properties(), 1)
            except (StorageUnavailable, QueueUnavailable):
                continue
            return

    async def settle(self, first: JobMessage) -> None:
        """The first message again, then everything due, with the sweep, for two hours."""
        await self.deliver(first)
        for _ in range(24):
            self.world.clock.advance(300)
            for sent in self.world.bus.take_due():
                await self.deliver(sent.message)
            await Sweep(self.services).run()

    async def check(self, job: Job, state: JobState) -> Job:
        await check_settled(self.world, {job.job_id})
        assert self.world.bus.waiting() == []
        stored = self.world.jobs.job(job.job_id)
        assert stored.state is state
        return stored


def message_of(job: Job) -> JobMessage:
    return JobMessage.for_job(job)


async def _run(flow: Flow, job: Job) -> None:
    message = message_of(job)
    await Worker(flow.services).handle(message.body(), message.properties(), message.message_id)


@pytest.mark.parametrize("point", SUCCESS)
async def test_a_kill_on_the_way_to_success_leaves_one_result(point: Point) -> None:
    flow = Flow()
    job = await store(flow.world, new_job(flow.world))
    async with killed_at(point):
        await _run(flow, job)
    flow.world.clock.advance(LEASE)
    await flow.settle(message_of(job))
    await flow.check(job, JobState.SUCCEEDED)
    stored_before = point in SUCCESS[4:]
    assert len(flow.task.runs) == 1 + (point in SUCCESS[3:4])
    assert (flow.world.blobs.content(flow.world.blobs.refs()[-1]) == b"result of run 1") is (
        stored_before or len(flow.task.runs) == 1
    )


@pytest.mark.parametrize("point", RETRY)
async def test_a_kill_in_a_retry_loses_neither_the_job_nor_its_turn(point: Point) -> None:
    flow = Flow([TransientError("busy")])
    job = await store(flow.world, new_job(flow.world))
    async with killed_at(point):
        await _run(flow, job)
    flow.world.clock.advance(LEASE)
    await flow.settle(message_of(job))
    done = await flow.check(job, JobState.SUCCEEDED)
    assert len(flow.task.runs) == 2
    assert done.attempt == (1 if point is Point.WORKER_AFTER_TURN_WRITTEN else 0)


@pytest.mark.parametrize("point", DEATH)
async def test_a_kill_around_death_leaves_one_case(point: Point) -> None:
    flow = Flow([PermanentError("no"), PermanentError("no")])
    job = await store(flow.world, new_job(flow.world))
    async with killed_at(point):
        await _run(flow, job)
    flow.world.clock.advance(LEASE)
    await flow.settle(message_of(job))
    await flow.check(job, JobState.DEAD)
    assert len(flow.world.cases.all_cases()) == 1


async def test_a_dead_job_whose_message_is_lost_is_filed_by_the_sweep() -> None:
    flow = Flow([PermanentError("no")])
    job = await store(flow.world, new_job(flow.world))
    with pytest.raises(DeadLettered):
        await _run(flow, job)
    flow.world.clock.advance(120)
    await Sweep(flow.services).run()
    await flow.check(job, JobState.DEAD)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("call", WRITES)
@pytest.mark.parametrize("script", [[], [TransientError("busy")], [PermanentError("no")]])
async def test_one_lost_call_or_answer_changes_nothing(
    call: str, after: bool, script: list[Exception | bytes]
) -> None:
    flow = Flow(script)
    job = await store(flow.world, new_job(flow.world))
    fake: Any = getattr(flow.world, call.split(".")[0])
    error = QueueUnavailable() if call.startswith("bus") else StorageUnavailable()
    fake.fail_next(call.split(".")[1], error, after=after)
    await flow.settle(message_of(job))
    dead = bool(script) and isinstance(script[0], PermanentError)
    await flow.check(job, JobState.DEAD if dead else JobState.SUCCEEDED)


async def test_a_zombie_that_finishes_late_overwrites_nothing() -> None:
    flow = Flow([b"late", b"in time"])
    job = await store(flow.world, new_job(flow.world))

    async def taken_over() -> None:
        flow.world.clock.advance(LEASE)
        await _run(flow, job)

    flow.world.blobs.before("put_if_absent", taken_over)
    await _run(flow, job)
    done = await flow.check(job, JobState.SUCCEEDED)
    assert done.claim == 2
    assert done.result is not None
    assert flow.world.blobs.content(done.result.ref) == b"in time"
    assert flow.world.telemetry.counted("claims_lost") == 1


@pytest.mark.parametrize("error", [PermanentError("late"), TransientError("late")])
async def test_a_zombie_that_fails_late_neither_kills_nor_retries_the_job(error: Exception) -> None:
    flow = Flow([error, b"in time"])
    job = await store(flow.world, new_job(flow.world))

    async def taken_over() -> None:
        flow.world.clock.advance(LEASE)
        await _run(flow, job)

    async def claimed() -> None:  # so the zombie's next commit is that of its outcome
        flow.world.jobs.before("commit", taken_over)

    flow.world.blobs.before("info", claimed)
    await _run(flow, job)
    assert flow.world.telemetry.counted("claims_lost") == 1
    await flow.settle(message_of(job))
    await flow.check(job, JobState.SUCCEEDED)


async def test_the_row_describes_the_result_that_is_stored() -> None:
    world = World()
    job = new_job(world)
    services = build_services(world)
    first = await store_result(services, job, TaskResult(content=b"first", content_type="text/plain"))
    second = await store_result(services, job, TaskResult(content=b"second", content_type="text/html"))
    assert first == second
    assert world.blobs.content(first.ref) == b"first"


async def test_each_claim_that_ended_leaves_an_attempt_row() -> None:
    flow = Flow([TransientError("busy")])
    job = await store(flow.world, new_job(flow.world))
    await flow.settle(message_of(job))
    rows = await flow.world.jobs.rows(job.job_id, RowKind.ATTEMPT)
    assert [(row.data["attempt"], row.data["outcome"]) for row in rows] == [
        (0, "transient"),
        (1, "succeeded"),
    ]
