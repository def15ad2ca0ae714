"""Crowds of one tenant in virtual time: each comes to run, and what there is is used."""

import asyncio
from collections.abc import Callable
from datetime import datetime

import pytest

from shared.calls.calling import MustWait
from shared.decisions import PutOff, Rules, decide
from shared.pipeline.policies import TenantLimits
from tests.support.application import TASK, new_job
from tests.support.fakes import World
from tests.support.fakes.time import START
from tests.support.virtual_time import LoopClock, run_virtually
from tests.unit.shared.limits.held_slots import MINUTE, held, limited, limited_until


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
