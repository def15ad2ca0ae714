"""One attempt never raises for what its task did."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.calls.calling import BudgetExceeded, MustWait
from shared.calls.failures import CallFailed, FailureKind
from shared.documents.errors import DocumentMissing
from shared.errors import (
    AfterhookError,
    AttemptTimedOut,
    ClaimLost,
    JobCancelled,
    OutcomeUnknownError,
    PermanentError,
    StorageUnavailable,
    TaskFailed,
    TransientError,
)
from shared.tasks.base import TaskContext, TaskInput, TaskResult, Waiting
from shared.worker.attempt import Ended, attempt
from shared.worker.claims import Claim
from tests.support.application import TASK, ScriptedTask, build_services, new_job, store
from tests.support.fakes import World
from tests.support.fakes.time import START


class HangingTask(ScriptedTask):
    async def run(self, task_input: TaskInput, context: TaskContext) -> TaskResult:
        await asyncio.Event().wait()
        raise AssertionError


async def attempted(world: World, task: ScriptedTask, *, stored: bool = True, **changes: Any) -> Ended:
    services = build_services(world, task)
    policy = replace(services.pipeline.tasks[TASK], **changes)
    job = new_job(world)
    if stored:
        await store(world, job)
    else:
        await world.jobs.insert(job, [])
    snapshot = await world.jobs.load(job.job_id)
    assert snapshot is not None
    return await attempt(Claim(services, snapshot, world.clock.now() + timedelta(seconds=90)), task, policy)


async def test_a_result_completes_the_attempt() -> None:
    ended = await attempted(World(), ScriptedTask())
    assert ended == TaskResult(content=b"result of run 1", content_type="text/plain")


@pytest.mark.parametrize(
    "error",
    [
        PermanentError("p"),
        TransientError("t"),
        OutcomeUnknownError("u"),
        CallFailed("video", FailureKind.UNCLEAR),
        MustWait("provider_resting", START),
        BudgetExceeded("b"),
        JobCancelled("c"),
    ],
)
async def test_a_declared_error_is_kept(error: AfterhookError) -> None:
    task = ScriptedTask()
    task.script = [error]
    assert await attempted(World(), task) is error


@pytest.mark.parametrize("error", [ValueError("MARKED"), MemoryError(), RecursionError(), KeyError("MARKED")])
async def test_any_other_error_is_named_but_not_quoted(error: Exception) -> None:
    task = ScriptedTask()
    task.script = [error]
    ended = await attempted(World(), task)
    assert isinstance(ended, TaskFailed)
    assert type(error).__name__ in str(ended)
    assert "MARKED" not in str(ended)


async def test_a_task_that_hangs_is_ended_at_its_timeout() -> None:
    ended = await attempted(World(), HangingTask(), attempt_timeout=timedelta(seconds=0.05))
    assert isinstance(ended, AttemptTimedOut)
    assert "within 0.05 s" in str(ended)


async def test_a_slow_run_is_told_and_counted_once_while_it_lasts() -> None:
    world = World()

    class SlowTask(ScriptedTask):
        async def run(self, task_input: TaskInput, context: TaskContext) -> TaskResult | Waiting:
            while not world.telemetry.counted("slow_attempts"):  # noqa: ASYNC110  a count has no event
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            return await super().run(task_input, context)

    await attempted(world, SlowTask(), slow_after=timedelta(seconds=0.01))
    assert world.telemetry.counted("slow_attempts") == 1
    await attempted(World(), ScriptedTask(), slow_after=timedelta(seconds=600))
    assert world.telemetry.counted("slow_attempts") == 1


async def test_an_input_that_is_missing_is_an_outcome() -> None:
    assert isinstance(await attempted(World(), ScriptedTask(), stored=False), DocumentMissing)


async def test_a_lost_claim_is_no_outcome() -> None:
    task = ScriptedTask()
    task.script = [ClaimLost()]
    with pytest.raises(ClaimLost):
        await attempted(World(), task)


async def test_a_storage_outage_is_no_outcome() -> None:
    world = World()
    world.blobs.down = True
    with pytest.raises(StorageUnavailable):
        await attempted(world, ScriptedTask())
