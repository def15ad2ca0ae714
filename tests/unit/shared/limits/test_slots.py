"""Slots to run in and starts in a minute: what is over waits, and each comes to run."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from shared.calls.calling import MustWait
from shared.decisions import PutOff, Rules, decide
from shared.errors import StorageUnavailable
from shared.jobs import Job
from shared.limits.ports import Slot
from shared.limits.slots import free_number, spacing, tenant_slot
from shared.limits.starts import PLACE_KEPT
from shared.limits.tenants import tenants_of
from shared.pipeline.policies import LimitBy, TenantLimits
from shared.services import Services
from tests.support.application import SOURCE, TASK, build_services, new_job, pipeline
from tests.support.fakes import World
from tests.support.fakes.time import START
from tests.support.virtual_time import LoopClock, run_virtually

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


def limited_until(world: World, limits: TenantLimits, deadline: timedelta) -> Services:
    services = limited(world, limits)
    policy = services.pipeline.tasks[TASK]
    tasks = {TASK: replace(policy, retry=replace(policy.retry, deadline=deadline))}
    return replace(services, pipeline=replace(services.pipeline, tasks=tasks))


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


def test_at_twice_the_rate_as_many_start_as_may() -> None:
    """Those who die waiting hold up nobody, so for an hour and a half the rate is used in full."""
    world = World(clock=LoopClock())
    services = limited_until(world, TenantLimits(per_minute=6), 10 * MINUTE)
    policy = services.pipeline.tasks[TASK]
    rules = Rules(retry=policy.retry, poll=policy.poll)
    started = 0

    async def live(number: int) -> None:
        nonlocal started
        await asyncio.sleep(5 * number)
        job = new_job(world, f"evt_{number}")
        while True:
            try:
                async with held(services, job):
                    started += 1
                    return
            except MustWait as wait:
                now = world.clock.now()
                decision = decide(wait, job, rules, now, world.randomness.fraction())
            if not isinstance(decision, PutOff):
                return
            await asyncio.sleep((decision.until - now).total_seconds())

    async def all_of_them() -> None:
        await asyncio.gather(*(live(number) for number in range(90 * 12)))

    run_virtually(all_of_them())
    assert started >= 0.95 * 90 * 6


@pytest.mark.parametrize("changes", [{"attempt": 1}, {"waits": 3}, {"waiting_since": START}])
async def test_retries_and_looks_are_no_new_starts(changes: dict[str, Any]) -> None:
    world = World()
    services = limited(world, TenantLimits(per_minute=1))
    async with held(services, new_job(world, "evt_0")):
        pass
    async with held(services, new_job(world, "evt_1", **changes)):
        pass


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


class Crowd:
    """Jobs of one busy tenant in virtual time; each comes again when it is told to."""

    def __init__(self, limits: TenantLimits) -> None:
        self.world = World(clock=LoopClock())
        self.services = limited(self.world, limits)
        self.inside = self.most = self.looks = 0
        self.started: list[datetime] = []
        self.waited: list[float] = []

    async def live(self, number: int, arrives: float, seconds: Callable[[], float]) -> None:
        await asyncio.sleep(arrives)
        job = new_job(self.world, f"evt_{number}")
        came = self.world.clock.now()
        while True:
            self.looks += 1
            try:
                async with held(self.services, job):
                    self.started.append(self.world.clock.now())
                    self.waited.append((self.started[-1] - came).total_seconds())
                    self.inside += 1
                    self.most = max(self.most, self.inside)
                    await asyncio.sleep(seconds())
                    self.inside -= 1
                    return
            except MustWait as wait:
                left = (wait.until - self.world.clock.now()).total_seconds()
            await asyncio.sleep(max(left, 0.001))

    async def all(self, arrivals: list[float], seconds: Callable[[], float]) -> None:
        await asyncio.gather(*(self.live(n, at, seconds) for n, at in enumerate(arrivals)))


def test_a_crowd_of_one_tenant_gets_through_at_nearly_full_use_with_few_looks() -> None:
    crowd = Crowd(TenantLimits(concurrent=4))
    run_virtually(crowd.all([0.0] * 200, lambda: 2 + 6 * crowd.world.randomness.fraction()))
    took = (max(crowd.started) - START).total_seconds()
    assert crowd.most == 4
    assert len(crowd.started) == 200
    assert took < 1.6 * (200 * 5 / 4)
    assert crowd.looks < 12 * 200


def test_newcomers_starve_nobody_who_waits() -> None:
    """Ten at once, then as many as can be served, for an hour: nobody waits for as long as that."""
    crowd = Crowd(TenantLimits(concurrent=2))
    arrivals = [0.0] * 10 + [n * 2.8 for n in range(600)]
    run_virtually(crowd.all(arrivals, lambda: 5.0))
    assert len(crowd.started) == 610
    assert max(crowd.waited) < 900


def test_a_crowd_starts_in_order_at_the_rate_with_two_looks_each() -> None:
    crowd = Crowd(TenantLimits(per_minute=30))
    run_virtually(crowd.all([0.0] * 150, lambda: 0.1))
    assert (max(crowd.started) - START).total_seconds() == pytest.approx((150 - 30) * 2, abs=1)
    assert crowd.looks <= 2 * 150
