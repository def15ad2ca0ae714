"""Starts in a minute: each job has its time, keeps it for a while, and loses it."""

from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from shared.calls.calling import MustWait
from shared.limits.starts import PLACE_KEPT
from shared.limits.tenants import tenants_of
from shared.pipeline.policies import TenantLimits
from tests.support.application import TASK, new_job
from tests.support.fakes import World
from tests.support.fakes.time import START
from tests.unit.shared.limits.held_slots import MINUTE, SECOND, held, limited, limited_until, refused


async def test_so_many_start_in_a_minute_and_the_next_are_told_when_they_may() -> None:
    world = World()
    services = limited(world, TenantLimits(per_minute=2))
    jobs = [new_job(world, f"evt_{n}") for n in range(4)]
    for job in jobs[:2]:
        async with held(services, job):
            pass
    waits = [await refused(services, job) for job in jobs[2:]]
    assert [(wait.reason, wait.until) for wait in waits] == [
        ("rate_limited", START + 30 * SECOND),
        ("rate_limited", START + 60 * SECOND),
    ]


async def test_a_job_starts_at_its_time_even_if_others_came_meanwhile() -> None:
    world = World()
    services = limited(world, TenantLimits(per_minute=1))
    async with held(services, new_job(world, "evt_0")):
        pass
    job = new_job(world, "evt_1")
    wait = await refused(services, job)
    world.clock.advance(10)
    assert (await refused(services, job)).until == wait.until
    assert (await refused(services, new_job(world, "evt_2"))).until == wait.until + 60 * SECOND
    world.clock.advance(wait.until - world.clock.now())
    async with held(services, job):
        pass


async def test_a_job_whose_wait_was_lengthened_by_jitter_still_has_its_start() -> None:
    world = World()
    services = limited(world, TenantLimits(per_minute=1))
    for number in range(20):
        with suppress(MustWait):
            async with held(services, new_job(world, f"evt_{number}")):
                pass
    last = new_job(world, "evt_19")
    wait = (await refused(services, last)).until - START
    assert wait == timedelta(minutes=19)
    world.clock.advance(wait * 1.2)
    async with held(services, last):
        pass


async def test_a_start_that_is_missed_is_lost() -> None:
    world = World()
    services = limited(world, TenantLimits(per_minute=1))
    async with held(services, new_job(world, "evt_0")):
        pass
    late = new_job(world, "evt_1")
    wait = await refused(services, late)
    jittered = (wait.until - START) * services.pipeline.tasks[TASK].retry.jitter
    world.clock.advance(wait.until + jittered + PLACE_KEPT + SECOND - world.clock.now())
    async with held(services, new_job(world, "evt_2")):
        pass
    assert (await refused(services, late)).reason == "rate_limited"


async def test_a_job_that_may_be_buried_before_it_starts_lines_up_nowhere() -> None:
    world = World()
    services = limited_until(world, TenantLimits(per_minute=6), 10 * MINUTE)
    jobs = [new_job(world, f"evt_{number}") for number in range(200)]
    tenant = tenants_of(services, jobs[0])[0].key
    for job in jobs:
        with suppress(MustWait):
            async with held(services, job):
                pass
    last = (await world.slots.meter(tenant)).meter.next_start
    assert 8 * MINUTE < last - START <= 10 * MINUTE / 1.2
    assert await world.slots.place(tenant, jobs[-1].job_id) is None
    assert world.telemetry.counted("jobs_held_back", reason="rate_limited") == 200 - 6
    world.clock.advance(5 * MINUTE)
    later = new_job(world, "evt_later")
    assert (await refused(services, later)).until == last + 10 * SECOND


@pytest.mark.parametrize("changes", [{"attempt": 1}, {"waits": 3}, {"waiting_since": START}])
async def test_retries_and_looks_are_no_new_starts(changes: dict[str, Any]) -> None:
    world = World()
    services = limited(world, TenantLimits(per_minute=1))
    async with held(services, new_job(world, "evt_0")):
        pass
    async with held(services, new_job(world, "evt_1", **changes)):
        pass
