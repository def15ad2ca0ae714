"""Starts in a minute under several limits: one of each for a job that starts, none for one that waits."""

import asyncio
from contextlib import suppress
from datetime import datetime

import pytest

from shared.calls.calling import MustWait
from shared.jobs import Job
from shared.limits.ports import StoredMeter
from shared.limits.rates import Meter
from shared.limits.starts import PLACE_KEPT, count_start
from shared.limits.tenants import tenants_of
from shared.pipeline.policies import LimitBy, TenantLimits
from shared.services import Services
from tests.support.application import new_job
from tests.support.fakes import World
from tests.support.fakes.time import START
from tests.support.virtual_time import LoopClock, run_virtually
from tests.unit.shared.limits.held_slots import MINUTE, SECOND, limited


def shared_and_own(world: World, *, source: int, user: int) -> Services:
    """So many a minute of the whole source, and so many of each user."""
    return limited(world, TenantLimits(per_minute=source), TenantLimits(per_minute=user, by=LimitBy.USER))


async def started(services: Services, job: Job) -> datetime | None:
    """None if it may start, else when it is to come again."""
    try:
        await count_start(services, tenants_of(services, job), job)
    except MustWait as wait:
        return wait.until
    return None


async def test_a_job_that_its_user_s_limit_refuses_uses_up_no_start_of_its_source() -> None:
    world = World()
    services = shared_and_own(world, source=3, user=1)
    flood = [new_job(world, f"evt_{n}", user_id="user_1") for n in range(20)]
    waits = [await started(services, job) for job in flood]
    assert waits == [None, *(START + n * MINUTE for n in range(1, 20))]
    others = [new_job(world, f"other_{n}", user_id=f"other_{n}") for n in range(2)]
    assert [await started(services, job) for job in others] == [None, None]


async def test_a_job_that_its_source_s_limit_refuses_uses_up_no_start_of_its_user() -> None:
    world = World()
    services = shared_and_own(world, source=1, user=3)
    assert await started(services, new_job(world, "evt_0", user_id="another")) is None
    job = new_job(world, "evt_1", user_id="user_1")
    assert await started(services, job) == START + MINUTE
    own = tenants_of(services, job)[1]
    assert await world.slots.meter(own.key) == StoredMeter(meter=Meter(), version=None)


async def test_the_time_that_one_limit_gave_is_kept_while_another_holds_the_job_back() -> None:
    world = World()
    services = shared_and_own(world, source=2, user=1)
    assert await started(services, new_job(world, "evt_0", user_id="user_1")) is None
    job = new_job(world, "evt_1", user_id="user_1")
    its_time = await started(services, job)
    assert its_time == START + MINUTE
    world.clock.advance(MINUTE)
    for n in range(6):  # the source is busy until two minutes later
        with suppress(MustWait):
            one = new_job(world, f"other_{n}", user_id=f"other_{n}")
            await count_start(services, tenants_of(services, one), one)
    later = await started(services, job)
    assert later is not None
    assert later > its_time + PLACE_KEPT
    world.clock.advance(later - world.clock.now())
    assert await started(services, job) is None
    own = await world.slots.meter(tenants_of(services, job)[1].key)
    assert own.meter.full_at == START + 2 * MINUTE  # two jobs, two starts


async def test_a_start_counted_before_another_was_quicker_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    services = shared_and_own(world, source=1, user=2)
    job = new_job(world, "evt_1", user_id="user_1")
    source, own = (tenant.key for tenant in tenants_of(services, job))
    advance, rivals = world.slots.advance, [Meter(full_at=START + 2 * MINUTE)]

    async def overtaken(tenant: str, meter: Meter, version: str | None, job_id: str | None = None) -> bool:
        if tenant == own and rivals:
            assert await advance(own, rivals.pop(), None)
        return await advance(tenant, meter, version, job_id)

    monkeypatch.setattr(world.slots, "advance", overtaken)
    wait = await started(services, job)
    assert wait is not None
    counted = (await world.slots.meter(source)).meter.full_at
    assert START + MINUTE <= counted < START + MINUTE + SECOND  # the start that was counted first
    world.clock.advance(wait - world.clock.now())
    assert await started(services, job) is None
    assert (await world.slots.meter(source)).meter.full_at == counted


async def test_a_job_that_starts_leaves_no_place_behind() -> None:
    world = World()
    services = shared_and_own(world, source=1, user=1)
    assert await started(services, new_job(world, "evt_0", user_id="user_1")) is None
    job = new_job(world, "evt_1", user_id="user_1")
    while (until := await started(services, job)) is not None:
        world.clock.advance(until - world.clock.now())
    for tenant in tenants_of(services, job):
        assert await world.slots.place(tenant.key, job.job_id) is None


def test_a_flooding_user_leaves_the_others_what_the_source_may_start() -> None:
    """A minute's source limit of 30, a user's of 3: the flood gets its 3, the others all they ask for."""
    world = World(clock=LoopClock())
    services = shared_and_own(world, source=30, user=3)
    starts: dict[str, list[float]] = {"flood": [], "other": []}

    async def live(kind: str, number: int, at: float, user: str) -> None:
        await asyncio.sleep(at)
        job = new_job(world, f"{kind}_{number}", user_id=user)
        while (until := await started(services, job)) is not None:
            await world.clock.sleep((until - world.clock.now()) / SECOND)
        starts[kind].append((world.clock.now() - START) / SECOND - at)

    async def all_of_them() -> None:
        flood = [live("flood", n, 0, "flooding") for n in range(60)]
        others = [live("other", n, 3 * n, f"user_{n}") for n in range(200)]
        await asyncio.gather(*flood, *others)

    run_virtually(all_of_them())
    assert max(starts["other"]) <= 10
    assert len(starts["flood"]) == 60
    assert 18 * 60 <= max(starts["flood"]) <= 20 * 60
