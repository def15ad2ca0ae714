"""The limits through the whole worker: what is over waits unspent, a used-up budget goes before a person."""

from dataclasses import replace
from datetime import timedelta
from typing import ClassVar

import pytest

from shared.calls.calling import Usage
from shared.calls.failures import CallFailed, FailureKind
from shared.errors import DeadLettered
from shared.jobs import Category, Job, JobState
from shared.limits.slots import tenant_slot
from shared.messages import JobMessage
from shared.pipeline.policies import BreakerPolicy, BudgetPolicy, TenantLimits
from shared.tasks.base import TaskContext, TaskInput, TaskResult
from shared.worker.run import Worker
from tests.support.application import SOURCE, TASK, build_services, new_job, pipeline, store
from tests.support.fakes import World


class CallingTask:
    """Makes one call of sixty tokens; what it answers is in `script`."""

    name: ClassVar[str] = TASK
    max_input_bytes = 1024

    def __init__(self) -> None:
        self.script: list[Exception | None] = []
        self.called = 0

    async def run(self, task_input: TaskInput, context: TaskContext) -> TaskResult:
        async def call() -> bytes:
            self.called += 1
            if self.script and (error := self.script.pop(0)):
                raise error
            return b"answer"

        answer = await context.calls.run(
            "openai", call, timeout=timedelta(seconds=20), estimate=Usage(tokens=60)
        )
        return TaskResult(answer, "text/plain")


class Bench:
    def __init__(self, *, limits: TenantLimits | None = None, budget: BudgetPolicy | None = None) -> None:
        self.world, self.task = World(), CallingTask()
        pipe = pipeline()
        pipe = replace(
            pipe,
            sources={SOURCE: replace(pipe.sources[SOURCE], limits=limits or TenantLimits())},
            tasks={TASK: replace(pipe.tasks[TASK], budget=budget or BudgetPolicy())},
            providers={"openai": BreakerPolicy(failures=1)},
        )
        self.services = build_services(self.world, self.task, pipeline=pipe)

    async def job(self, event_id: str = "evt_1") -> Job:
        return await store(self.world, new_job(self.world, event_id))

    async def handle(self, job: Job) -> Job:
        """The job after its present message was handled."""
        message = JobMessage.for_job(self.world.jobs.job(job.job_id))
        await Worker(self.services).handle(message.body(), message.properties(), message.message_id)
        return self.world.jobs.job(job.job_id)

    def to(self, job: Job) -> None:
        """Move the time on until the job may go on."""
        assert job.not_before is not None
        self.world.clock.advance(job.not_before - self.world.clock.now())


def assert_waits(bench: Bench, job: Job, reason: str) -> None:
    assert (job.state, job.attempt, job.lease) == (JobState.RETRY_SCHEDULED, 0, None)
    assert job.not_before is not None
    assert job.not_before > bench.world.clock.now()
    assert bench.world.bus.sent[-1].at == job.not_before
    assert bench.world.telemetry.counted("jobs_put_off", task_type=TASK, reason=reason) >= 1


async def test_a_job_of_a_busy_tenant_waits_and_runs_when_there_is_a_place() -> None:
    bench = Bench(limits=TenantLimits(concurrent=1))
    job, until = await bench.job(), bench.world.clock.now() + timedelta(minutes=2)
    async with tenant_slot(bench.services, new_job(bench.world, "evt_other"), until):
        waiting = await bench.handle(job)
        assert_waits(bench, waiting, "tenant_busy")
        bench.to(waiting)
        waiting = await bench.handle(job)
    bench.to(waiting)
    assert (await bench.handle(job)).state is JobState.SUCCEEDED
    assert bench.task.called == 1


async def test_a_finished_job_leaves_its_place_to_the_next() -> None:
    bench = Bench(limits=TenantLimits(concurrent=1))
    for number in range(3):
        assert (await bench.handle(await bench.job(f"evt_{number}"))).state is JobState.SUCCEEDED


async def test_a_job_over_the_rate_starts_at_its_time() -> None:
    bench = Bench(limits=TenantLimits(per_minute=1))
    await bench.handle(await bench.job("evt_0"))
    job = await bench.job("evt_1")
    waiting = await bench.handle(job)
    assert_waits(bench, waiting, "rate_limited")
    bench.to(waiting)
    assert (await bench.handle(job)).state is JobState.SUCCEEDED


async def test_jobs_wait_for_a_resting_provider_without_spending_attempts() -> None:
    bench = Bench()
    bench.task.script = [CallFailed("openai", FailureKind.NOT_SENT)]
    assert (await bench.handle(await bench.job("evt_0"))).attempt == 1
    job = await bench.job("evt_1")
    waiting = await bench.handle(job)
    assert_waits(bench, waiting, "provider_resting")
    assert bench.task.called == 1
    bench.to(waiting)
    assert (await bench.handle(job)).state is JobState.SUCCEEDED


async def test_a_job_over_its_budget_goes_before_a_person() -> None:
    bench = Bench(budget=BudgetPolicy(job_tokens=59))
    job = await bench.job()
    with pytest.raises(DeadLettered):
        await bench.handle(job)
    dead = bench.world.jobs.job(job.job_id)
    assert dead.failure is not None
    assert (dead.state, dead.failure.category, dead.failure.code) == (
        JobState.DEAD,
        Category.BUDGET,
        "budget_exceeded",
    )
    assert bench.task.called == 0


async def test_the_next_day_has_a_budget_of_its_own() -> None:
    bench = Bench(budget=BudgetPolicy(day_tokens=100))
    assert (await bench.handle(await bench.job("evt_0"))).state is JobState.SUCCEEDED
    with pytest.raises(DeadLettered):
        await bench.handle(await bench.job("evt_1"))
    bench.world.clock.advance(timedelta(days=1))
    assert (await bench.handle(await bench.job("evt_2"))).state is JobState.SUCCEEDED
