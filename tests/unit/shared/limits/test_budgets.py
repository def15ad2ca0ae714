"""Budgets in storage: reserved, settled, refused; whatever comes at once, and whatever answer is lost."""

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.calls.calling import NO_COST, BudgetExceeded, Usage
from shared.errors import StorageUnavailable
from shared.jobs import Job
from shared.limits.budget import KEPT_WRITES
from shared.limits.budgets import DAY_SHARDS, reserve, settle
from shared.limits.ports import StoredShard
from tests.support.application import TASK, build_services, new_job
from tests.support.fakes import FakeRandomness, World
from tests.support.fakes.limits import FakeBudgetStore
from tests.support.virtual_time import LoopClock, run_virtually
from tests.unit.shared.limits.budgeted import policy

DAY = f"day:{TASK}:20260727"


def key(job: Job) -> str:
    return f"job:{job.job_id}:{job.release}"


async def test_without_a_budget_nobody_is_asked() -> None:
    world = World()
    reservation = await reserve(build_services(world), new_job(world), policy(), Usage(tokens=5))
    await settle(build_services(world), reservation, Usage(tokens=500))
    assert world.budgets.calls == []


async def test_a_reservation_counts_for_the_job_and_for_the_day_until_it_is_settled() -> None:
    world = World()
    services, job = build_services(world), new_job(world)
    reservation = await reserve(services, job, policy(job_tokens=100, day_tokens=1000), Usage(tokens=60))
    assert (world.budgets.spent(key(job)), world.budgets.spent(DAY)) == ((60, 0), (60, 0))
    await settle(services, reservation, Usage(tokens=20, micros=7))
    assert (world.budgets.spent(key(job)), world.budgets.spent(DAY)) == ((20, 7), (20, 7))


async def test_settling_as_reserved_writes_nothing() -> None:
    world = World()
    services = build_services(world)
    reservation = await reserve(services, new_job(world), policy(job_tokens=9), Usage(tokens=5))
    asked = len(world.budgets.calls)
    await settle(services, reservation, Usage(tokens=5))
    assert len(world.budgets.calls) == asked


async def test_what_would_go_over_is_refused_and_leaves_nothing() -> None:
    world = World()
    services, job, both = build_services(world), new_job(world), policy(job_micros=100, day_micros=50)
    with pytest.raises(BudgetExceeded, match=r"summarize_document for all jobs of a day \(UTC\)"):
        await reserve(services, job, both, Usage(micros=60))
    assert (world.budgets.spent(key(job)), world.budgets.spent(DAY)) == ((0, 0), (0, 0))
    with pytest.raises(BudgetExceeded, match="for each release of a job"):
        await reserve(services, job, both, Usage(micros=101))
    assert world.telemetry.counted("budgets_exceeded", task_type=TASK) == 2


async def test_a_call_that_cost_more_than_was_reserved_stops_the_later_ones() -> None:
    world = World()
    services, job, bounded = build_services(world), new_job(world), policy(day_tokens=100)
    reservation = await reserve(services, job, bounded, Usage(tokens=50))
    await settle(services, reservation, Usage(tokens=130))
    assert world.budgets.spent(DAY) == (130, 0)
    for amount in (Usage(tokens=1), NO_COST):
        with pytest.raises(BudgetExceeded):
            await reserve(services, job, bounded, amount)


async def test_a_new_release_and_a_new_day_begin_with_nothing_spent() -> None:
    world = World()
    services, job, bounded = build_services(world), new_job(world), policy(job_tokens=10, day_tokens=10)
    await reserve(services, job, bounded, Usage(tokens=10))
    world.clock.advance(timedelta(days=1))
    with pytest.raises(BudgetExceeded, match="for each release of a job"):
        await reserve(services, job, bounded, Usage(tokens=1))
    await reserve(services, replace(job, release=1), bounded, Usage(tokens=10))


async def test_a_reservation_is_settled_on_the_day_it_was_made() -> None:
    world = World()
    services = build_services(world)
    reservation = await reserve(services, new_job(world), policy(day_tokens=10), Usage(tokens=10))
    world.clock.advance(timedelta(days=1))
    await settle(services, reservation, Usage(tokens=4))
    assert world.budgets.spent(DAY) == (4, 0)


async def test_a_crash_between_reservation_and_settlement_counts_as_spent() -> None:
    world = World()
    services, job, bounded = build_services(world), new_job(world), policy(job_tokens=10)
    await reserve(services, job, bounded, Usage(tokens=6))
    with pytest.raises(BudgetExceeded):
        await reserve(services, job, bounded, Usage(tokens=6))


@pytest.mark.parametrize("method", ["shards", "write"])
async def test_an_outage_is_no_answer(method: str) -> None:
    world = World()
    world.budgets.fail_next(method)
    with pytest.raises(StorageUnavailable):
        await reserve(build_services(world), new_job(world), policy(job_tokens=10), Usage(tokens=6))


class FlappingStore(FakeBudgetStore):
    """Is away for what begins with `away`."""

    away: str | None = None

    async def shards(self, counter: str) -> Sequence[StoredShard]:
        if self.away is not None and counter.startswith(self.away):
            raise StorageUnavailable
        return await super().shards(counter)


async def test_a_reservation_that_fails_half_way_is_given_back() -> None:
    store = FlappingStore()
    world = World(budgets=store)
    services, job, both = build_services(world), new_job(world), policy(job_tokens=10, day_tokens=100)
    store.away = "day:"
    for _ in range(3):
        with pytest.raises(StorageUnavailable):
            await reserve(services, job, both, Usage(tokens=6))
        assert store.spent(key(job)) == (0, 0)
    store.away = None
    await reserve(services, job, both, Usage(tokens=6))
    assert (store.spent(key(job)), store.spent(DAY)) == ((6, 0), (6, 0))


async def test_what_cannot_be_given_back_is_counted_and_the_first_failure_is_told() -> None:
    store = LosingJobStore()
    world = World(budgets=store)
    services, job, both = build_services(world), new_job(world), policy(job_tokens=10, day_tokens=5)
    with pytest.raises(BudgetExceeded, match="of a day"):
        await reserve(services, job, both, Usage(tokens=6))
    assert store.spent(key(job)) == (6, 0)
    assert world.telemetry.counted("limits_not_written", task_type=TASK) == 1


class LosingJobStore(FlappingStore):
    """Is away for the job's counter once the day's was read."""

    async def shards(self, counter: str) -> Sequence[StoredShard]:
        found = await super().shards(counter)
        if counter.startswith("day:"):
            self.away = "job:"
        return found


class LosingStore(FakeBudgetStore):
    """Whose next write after `lose` is applied, told as a conflict, and followed by `others` of others."""

    losing: int | None = None

    async def write(self, counter: str, changed: Sequence[StoredShard]) -> bool:
        written = await super().write(counter, changed)
        others, self.losing = self.losing, None
        if others is None:
            return written
        for number in range(others):
            (stored,) = await self.shards(counter)
            shard = stored.shard.signed(f"other-{number}")
            assert await super().write(counter, [replace(stored, shard=shard)])
        return False


@pytest.mark.parametrize("others", [0, 1, KEPT_WRITES - 1])
async def test_a_write_whose_answer_was_lost_counts_once(others: int) -> None:
    store = LosingStore()
    world = World(budgets=store)
    services, job, bounded = build_services(world), new_job(world), policy(job_tokens=100)
    await reserve(services, job, bounded, Usage(tokens=1))
    store.losing = others
    reservation = await reserve(services, job, bounded, Usage(tokens=50))
    assert world.budgets.spent(key(job)) == (51, 0)
    store.losing = others
    await settle(services, reservation, Usage(tokens=20))
    assert world.budgets.spent(key(job)) == (21, 0)


async def test_where_nobody_can_tell_it_counts_too_much_rather_than_too_little() -> None:
    store = LosingStore()
    world = World(budgets=store)
    services, job, bounded = build_services(world), new_job(world), policy(job_tokens=100)
    await reserve(services, job, bounded, Usage(tokens=1))
    store.losing = KEPT_WRITES
    reservation = await reserve(services, job, bounded, Usage(tokens=10))
    assert world.budgets.spent(key(job)) == (21, 0)
    store.losing = KEPT_WRITES
    await settle(services, reservation, Usage(tokens=4))
    assert world.budgets.spent(key(job)) == (15, 0)


async def test_shards_of_a_version_with_more_of_them_are_counted_too() -> None:
    world = World()
    services, job, bounded = build_services(world), new_job(world), policy(day_tokens=10)
    await reserve(services, job, bounded, Usage(tokens=3))
    stored = (await world.budgets.shards(DAY))[0]
    later = replace(stored, shard=replace(stored.shard, number=DAY_SHARDS + 3, tokens=6), version=None)
    assert await world.budgets.write(DAY, [later])
    with pytest.raises(BudgetExceeded):
        await reserve(services, job, bounded, Usage(tokens=2))
    await reserve(services, job, bounded, Usage(tokens=1))


RESERVING: ContextVar[bool] = ContextVar("reserving", default=False)


class CheckingStore(FakeBudgetStore):
    """At each write of a reservation the sum of all shards must be within the limit, whatever came before."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    async def write(self, counter: str, changed: Sequence[StoredShard]) -> bool:
        written = await super().write(counter, changed)
        if written and RESERVING.get():
            assert self.spent(counter)[0] <= self.limit
        return written


Calls = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 60)), min_size=1, max_size=25)


@settings(max_examples=100, deadline=None)
@given(calls=Calls, limit=st.integers(1, 200), seed=st.integers(0, 1000))
def test_no_reservation_goes_over_the_limit_in_whatever_order_reads_and_writes_fall(
    calls: list[tuple[int, int]], limit: int, seed: int
) -> None:
    """Calls may cost more than their estimates; nothing is lost or counted twice either."""
    store = CheckingStore(limit)
    world = World(clock=LoopClock(), randomness=FakeRandomness(seed), budgets=store)
    services, bounded = build_services(world), policy(day_tokens=limit)
    spent = 0

    async def one(number: int, estimate: int, used: int) -> None:
        nonlocal spent
        await asyncio.sleep(world.randomness.fraction())
        RESERVING.set(True)
        try:
            reservation = await reserve(
                services, new_job(world, f"evt_{number}"), bounded, Usage(tokens=estimate)
            )
        except BudgetExceeded:
            return
        RESERVING.set(False)
        spent += used
        store.latency = world.randomness.fraction() / 10
        await asyncio.sleep(world.randomness.fraction())
        await settle(services, reservation, Usage(tokens=used))

    async def all_of_them() -> None:
        await asyncio.gather(*(one(number, *call) for number, call in enumerate(calls)))

    run_virtually(all_of_them())
    assert store.spent(DAY) == (spent, 0)
