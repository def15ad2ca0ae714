"""Limits leave nothing behind: what they stored goes when the job or the day is over."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.calls.calling import MustWait, Usage
from shared.finishing import tidy
from shared.jobs import Job, JobState
from shared.limits.budgets import reserve
from shared.limits.forgetting import DAYS_KEPT
from shared.limits.slots import tenant_slot
from shared.limits.tenants import tenants_of
from shared.pipeline.policies import BudgetPolicy, TenantLimits
from shared.retention.run import Retention
from shared.services import Services
from tests.support.application import SOURCE, TASK, build_services, new_job, pipeline, store
from tests.support.fakes import World

BUDGET = BudgetPolicy(job_tokens=100, day_tokens=1000)
DAY = timedelta(days=1)


def services_of(world: World, budget: BudgetPolicy = BUDGET, limits: TenantLimits | None = None) -> Services:
    pipe = pipeline()
    sources = {SOURCE: replace(pipe.sources[SOURCE], limits=limits or TenantLimits())}
    tasks = {TASK: replace(pipe.tasks[TASK], budget=budget)}
    return build_services(world, pipeline=replace(pipe, sources=sources, tasks=tasks))


async def spent(services: Services, job: Job) -> None:
    await reserve(services, job, services.pipeline.tasks[TASK], Usage(tokens=5))


def job_counters(world: World) -> set[str]:
    return {counter for counter in world.budgets.counters() if counter.startswith("job:")}


@pytest.mark.parametrize("state", [JobState.SUCCEEDED, JobState.CANCELLED])
async def test_the_budget_of_a_job_that_ended_goes(world: World, state: JobState) -> None:
    services = services_of(world)
    job = await store(world, new_job(world))
    await spent(services, job)
    await tidy(services, replace(job, state=state), 0)
    assert job_counters(world) == set()


async def test_a_closed_jobs_budget_goes_though_its_open_row_is_one_ahead(world: World) -> None:
    services = services_of(world)
    job = await store(world, new_job(world))
    await spent(services, job)
    await tidy(services, replace(job, state=JobState.CLOSED), 1)
    assert job_counters(world) == set()


async def test_only_the_budget_of_the_release_that_is_over_goes(world: World) -> None:
    services = services_of(world)
    job = await store(world, new_job(world, release=1))
    for release in (0, 1):
        await spent(services, replace(job, release=release))
    for _ in range(2):
        await tidy(services, job, 0)
        await tidy(services, job, 1)
    assert job_counters(world) == {f"job:{job.job_id}:1"}


async def test_a_job_cancelled_while_it_waited_for_its_start_leaves_the_line(world: World) -> None:
    services = services_of(world, limits=TenantLimits(per_minute=1))
    jobs = [await store(world, new_job(world, f"evt_{number}")) for number in range(2)]
    until = world.clock.now() + timedelta(minutes=2)
    async with tenant_slot(services, jobs[0], until):
        pass
    with pytest.raises(MustWait):
        async with tenant_slot(services, jobs[1], until):
            raise AssertionError("It was let in.")
    line = tenants_of(services, jobs[1])[0].key
    assert await world.slots.place(line, jobs[1].job_id) is not None
    await tidy(services, replace(jobs[1], state=JobState.CANCELLED), 0)
    assert await world.slots.place(line, jobs[1].job_id) is None


async def test_nothing_is_asked_where_nothing_is_limited(world: World) -> None:
    services = services_of(world, BudgetPolicy())
    job = await store(world, new_job(world))
    await tidy(services, replace(job, state=JobState.CANCELLED), 0)
    await Retention(services).run()
    assert (world.budgets.calls, world.slots.calls) == ([], [])


async def test_what_cannot_be_forgotten_holds_up_no_end(world: World) -> None:
    services = services_of(world)
    job = await store(world, new_job(world))
    await spent(services, job)
    world.budgets.fail_next("forget")
    await tidy(services, replace(job, state=JobState.SUCCEEDED), 0)
    assert world.open.keys() == set()
    assert world.telemetry.counted("limits_not_forgotten") == 1


async def test_the_budget_of_a_day_goes_days_after_it(world: World) -> None:
    services = services_of(world, BudgetPolicy(day_tokens=1000))
    await spent(services, new_job(world))
    world.clock.advance((DAYS_KEPT - 1) * DAY)
    await spent(services, new_job(world))
    await Retention(services).run()
    assert len(world.budgets.counters()) == 2
    world.clock.advance(DAY)
    await Retention(services).run()
    assert len(world.budgets.counters()) == 1


async def test_days_that_cannot_be_forgotten_are_left_to_the_next_run(world: World) -> None:
    services = services_of(world, BudgetPolicy(day_tokens=1000))
    world.budgets.fail_next("forget")
    await Retention(services).run()
    assert world.budgets.calls.count("forget") == 1
    assert world.telemetry.counted("limits_not_forgotten") == 1
