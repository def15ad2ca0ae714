"""Services with limits, and jobs that are let in or must wait."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.calls.calling import MustWait
from shared.jobs import Job
from shared.limits.slots import tenant_slot
from shared.pipeline.policies import TenantLimits
from shared.services import Services
from tests.support.application import SOURCE, TASK, build_services, pipeline
from tests.support.fakes import World

LEASE = timedelta(seconds=90)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


def limited(world: World, source: TenantLimits | None = None, task: TenantLimits | None = None) -> Services:
    pipe = pipeline()
    sources = {SOURCE: replace(pipe.sources[SOURCE], limits=source or TenantLimits())}
    tasks = {TASK: replace(pipe.tasks[TASK], limits=task or TenantLimits())}
    return build_services(world, pipeline=replace(pipe, sources=sources, tasks=tasks))


@asynccontextmanager
async def held(services: Services, job: Job) -> AsyncIterator[None]:
    async with tenant_slot(services, job, services.clock.now() + LEASE):
        yield


async def refused(services: Services, job: Job) -> MustWait:
    with pytest.raises(MustWait) as caught:
        async with held(services, job):
            raise AssertionError("It was let in.")
    return caught.value


def limited_until(world: World, limits: TenantLimits, deadline: timedelta) -> Services:
    services = limited(world, limits)
    policy = services.pipeline.tasks[TASK]
    tasks = {TASK: replace(policy, retry=replace(policy.retry, deadline=deadline))}
    return replace(services, pipeline=replace(services.pipeline, tasks=tasks))
