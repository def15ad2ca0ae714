"""One attempt never raises for what its task did."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.documents.errors import DocumentMissing
from shared.errors import (
    AfterhookError,
    AttemptTimedOut,
    OutcomeUnknownError,
    PermanentError,
    StorageUnavailable,
    TaskFailed,
    TransientError,
)
from shared.tasks.base import TaskContext, TaskInput, TaskResult
from shared.worker.attempt import Completed, Failed, Outcome, attempt
from tests.support.application import TASK, ScriptedTask, build_services, new_job, store
from tests.support.fakes import World


class HangingTask(ScriptedTask):
    async def run(self, task_input: TaskInput, context: TaskContext) -> TaskResult:
        await asyncio.Event().wait()
        raise AssertionError


async def attempted(world: World, task: ScriptedTask, **changes: Any) -> Outcome:
    services = build_services(world, task)
    policy = replace(services.pipeline.tasks[TASK], **changes)
    job = await store(world, new_job(world))
    return await attempt(services, job, task, policy, world.clock.now() + timedelta(seconds=90))


async def test_a_result_completes_the_attempt() -> None:
    outcome = await attempted(World(), ScriptedTask())
    assert outcome == Completed(TaskResult(content=b"result of run 1", content_type="text/plain"))


@pytest.mark.parametrize("error", [PermanentError("p"), TransientError("t"), OutcomeUnknownError("u")])
async def test_a_declared_error_is_kept(error: AfterhookError) -> None:
    task = ScriptedTask()
    task.script = [error]
    assert await attempted(World(), task) == Failed(error)


@pytest.mark.parametrize("error", [ValueError("MARKED"), MemoryError(), RecursionError(), KeyError("MARKED")])
async def test_any_other_error_is_named_but_not_quoted(error: Exception) -> None:
    task = ScriptedTask()
    task.script = [error]
    outcome = await attempted(World(), task)
    assert isinstance(outcome, Failed)
    assert isinstance(outcome.error, TaskFailed)
    assert type(error).__name__ in str(outcome.error)
    assert "MARKED" not in str(outcome.error)


async def test_a_task_that_hangs_is_ended_at_its_timeout() -> None:
    outcome = await attempted(World(), HangingTask(), attempt_timeout=timedelta(seconds=0.05))
    assert isinstance(outcome, Failed)
    assert isinstance(outcome.error, AttemptTimedOut)
    assert "within 0.05 s" in str(outcome.error)


async def test_an_input_that_is_missing_is_an_outcome() -> None:
    world = World()
    services = build_services(world)
    job = new_job(world)
    policy = services.pipeline.tasks[TASK]
    outcome = await attempt(services, job, ScriptedTask(), policy, world.clock.now() + timedelta(seconds=90))
    assert isinstance(outcome, Failed)
    assert isinstance(outcome.error, DocumentMissing)


async def test_a_storage_outage_is_no_outcome() -> None:
    world = World()
    world.blobs.down = True
    with pytest.raises(StorageUnavailable):
        await attempted(world, ScriptedTask())
