"""Slots to run in: so many at once, each given back or free in time, and those who are over wait."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.calls.calling import MustWait
from shared.errors import StorageUnavailable
from shared.limits.ports import Slot
from shared.limits.slots import free_number, spacing, tenant_slot
from shared.limits.tenants import tenants_of
from shared.pipeline.policies import LimitBy, TenantLimits
from tests.support.application import new_job
from tests.support.fakes import World
from tests.support.fakes.time import START
from tests.unit.shared.limits.held_slots import LEASE, SECOND, held, limited, refused


async def test_without_limits_nobody_is_asked() -> None:
    world = World()
    async with held(limited(world), new_job(world)):
        pass
    assert world.slots.calls == []


async def test_so_many_run_at_once_and_the_next_waits() -> None:
    world = World()
    services = limited(world, TenantLimits(concurrent=2))
    jobs = [new_job(world, f"evt_{n}") for n in range(3)]
    async with held(services, jobs[0]), held(services, jobs[1]):
        wait = await refused(services, jobs[2])
        assert wait.reason == "tenant_busy"
        assert START < wait.until <= START + 10 * SECOND
    async with held(services, jobs[2]):
        pass
    assert world.telemetry.counted("jobs_held_back", reason="tenant_busy") == 1


async def test_a_place_is_given_back_whatever_the_run_came_to() -> None:
    world = World()
    services, job = limited(world, TenantLimits(concurrent=1)), new_job(world)
    with pytest.raises(ZeroDivisionError):
        async with held(services, job):
            raise ZeroDivisionError
    async with held(services, job):
        pass


async def test_the_place_of_a_worker_that_died_is_free_when_its_lease_ends() -> None:
    world = World()
    services, job = limited(world, TenantLimits(concurrent=1)), new_job(world)
    dead = tenant_slot(services, job, START + LEASE)
    await dead.__aenter__()
    world.clock.advance(LEASE - SECOND)
    await refused(services, job)
    world.clock.advance(SECOND)
    async with held(services, job):
        await dead.__aexit__(None, None, None)
        await refused(services, new_job(world, "evt_2"))


async def test_a_place_that_cannot_be_given_back_does_not_fail_the_run() -> None:
    world = World()
    services, job = limited(world, TenantLimits(concurrent=1)), new_job(world)
    async with held(services, job):
        world.slots.fail_next("release")
    assert world.telemetry.counted("slots_not_released") == 1
    await refused(services, job)


async def test_without_storage_nobody_is_let_in() -> None:
    world = World()
    services = limited(world, TenantLimits(concurrent=1))
    world.storage_down()
    with pytest.raises(StorageUnavailable):
        async with held(services, new_job(world)):
            pass


async def test_of_many_who_come_at_once_no_more_get_in_than_may() -> None:
    world = World()
    services = limited(world, TenantLimits(concurrent=3))
    inside = most = 0

    async def run(number: int) -> bool:
        nonlocal inside, most
        try:
            async with held(services, new_job(world, f"evt_{number}")):
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0.01)
                inside -= 1
        except MustWait:
            return False
        return True

    assert sum(await asyncio.gather(*(run(n) for n in range(20)))) >= 3
    assert most == 3


async def test_users_of_a_source_are_limited_each_or_all_together() -> None:
    world = World()
    one, other = new_job(world, "evt_1", user_id="user/1"), new_job(world, "evt_2", user_id="user/2")
    each = limited(world, TenantLimits(concurrent=1, by=LimitBy.USER))
    async with held(each, one), held(each, other):
        await refused(each, replace(one, job_id="job_3"))
    together = limited(World(), TenantLimits(concurrent=1))
    async with held(together, one):
        await refused(together, other)


async def test_a_job_must_find_a_place_of_its_source_and_of_its_task() -> None:
    world = World()
    services = limited(world, TenantLimits(concurrent=2), TenantLimits(concurrent=1))
    jobs = [new_job(world, f"evt_{n}") for n in range(3)]
    async with held(services, jobs[0]):
        await refused(services, jobs[1])
    async with held(services, jobs[1]):
        pass
    assert await world.slots.slots(tenants_of(services, jobs[0])[0].key) == []


def test_a_tenants_key_shows_no_user_and_two_scopes_never_share_one() -> None:
    world = World()
    by_user = TenantLimits(concurrent=1, by=LimitBy.USER)
    services = limited(world, by_user, by_user)
    keys = [tenant.key for tenant in tenants_of(services, new_job(world, user_id="user_204"))]
    assert len(set(keys)) == 2
    assert not any("user_204" in key for key in keys)
    api = new_job(world, source="api")
    assert [tenant.key for tenant in tenants_of(services, api)] != keys[1:]


async def test_a_job_that_must_wait_for_its_start_keeps_no_place_to_run() -> None:
    world = World()
    services = limited(world, TenantLimits(concurrent=1, per_minute=1))
    async with held(services, new_job(world, "evt_0")):
        pass
    job = new_job(world, "evt_1")
    assert (await refused(services, job)).reason == "rate_limited"
    assert await world.slots.slots(tenants_of(services, job)[0].key) == []


def slot(number: int, *, since: float = 0, until: float = 90) -> Slot:
    return Slot(number=number, token="t", since=START + since * SECOND, until=START + until * SECOND)


def test_a_free_place_is_any_that_nobody_holds() -> None:
    now = START + 50 * SECOND
    slots = [slot(0), slot(1, until=50), slot(3)]
    assert {free_number(slots, 4, now, n / 10) for n in range(10)} == {1, 2}
    assert free_number(slots, 1, now, 0.5) is None
    assert free_number([], 3, now, 0.999) == 2


def test_those_who_wait_look_as_often_as_places_become_free() -> None:
    now = START + 4 * SECOND
    assert spacing([slot(0), slot(1)], 4, now) == SECOND
    assert spacing([slot(0, since=4)], 1, now) == timedelta(milliseconds=100)
    assert spacing([slot(0)], 1, START + 80 * SECOND) == 2 * SECOND
