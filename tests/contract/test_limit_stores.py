"""The contracts of BreakerStore, BudgetStore and SlotStore, and the limits upon them in parallel."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.adapters.clock import SystemClock, SystemRandomness
from shared.calls.calling import BudgetExceeded, MustWait, Usage
from shared.limits.breaker import CLOSED, Breaker
from shared.limits.budget import Shard
from shared.limits.budgets import reserve, settle
from shared.limits.ports import Slot, StoredShard
from shared.limits.rates import Meter, Place
from shared.limits.slots import tenant_slot
from shared.pipeline.policies import BudgetPolicy, TenantLimits
from shared.services import Services
from tests.contract.stores import Stores
from tests.support.application import SOURCE, TASK, build_services, new_job, pipeline
from tests.support.fakes import World
from tests.support.records import MOMENT, minutes_later

RESTING = Breaker(rests=2, open_until=minutes_later(1), probe="token", probe_until=minutes_later(2))
SLOT = Slot(number=0, token="one", since=MOMENT, until=minutes_later(1))
BIG = 10**12


async def test_a_provider_of_which_nothing_is_known_has_a_closed_breaker(stores: Stores) -> None:
    stored = await stores.breakers.load("openai")
    assert (stored.breaker, stored.version) == (CLOSED, None)


async def test_a_breaker_comes_back_as_it_was_written(stores: Stores) -> None:
    written = await stores.breakers.write("openai", RESTING, None)
    assert written == await stores.breakers.load("openai")
    assert written is not None
    assert written.breaker == RESTING
    assert await stores.breakers.write("openai", CLOSED, written.version) == await stores.breakers.load(
        "openai"
    )
    assert (await stores.breakers.load("video")).version is None


async def test_a_breaker_that_changed_meanwhile_is_not_overwritten(stores: Stores) -> None:
    first = await stores.breakers.write("openai", RESTING, None)
    assert first is not None
    assert await stores.breakers.write("openai", CLOSED, None) is None
    await stores.breakers.write("openai", RESTING, first.version)
    assert await stores.breakers.write("openai", CLOSED, first.version) is None
    assert (await stores.breakers.load("openai")).breaker == RESTING


async def test_one_of_many_parallel_writes_of_a_breaker_wins(stores: Stores) -> None:
    stored = await stores.breakers.write("openai", CLOSED, None)
    assert stored is not None
    writes = [
        stores.breakers.write("openai", replace(RESTING, probe=f"p{n}"), stored.version) for n in range(8)
    ]
    won = [written for written in await asyncio.gather(*writes) if written is not None]
    assert won == [await stores.breakers.load("openai")]


async def test_a_counter_begins_without_shards_and_keeps_large_numbers(stores: Stores) -> None:
    assert await stores.budgets.shards("day:a") == []
    shards = [Shard(number=0, tokens=BIG, micros=7, writes=1, recent=("t",)), Shard(number=11, micros=BIG)]
    assert await stores.budgets.write("day:a", [StoredShard(shard=shard, version=None) for shard in shards])
    assert [stored.shard for stored in await stores.budgets.shards("day:a")] == shards
    assert await stores.budgets.shards("day:b") == []


async def test_a_counter_that_is_forgotten_begins_anew_and_no_other_does(stores: Stores) -> None:
    shards = [StoredShard(shard=Shard(number=number), version=None) for number in (0, 11)]
    for counter in ("day:a", "day:b"):
        assert await stores.budgets.write(counter, shards)
    await stores.budgets.forget("day:a")
    await stores.budgets.forget("day:a")
    assert await stores.budgets.shards("day:a") == []
    assert len(await stores.budgets.shards("day:b")) == 2
    assert await stores.budgets.write("day:a", shards)


async def test_shards_change_together_or_not_at_all(stores: Stores) -> None:
    new = [StoredShard(shard=Shard(number=number), version=None) for number in range(3)]
    assert await stores.budgets.write("job:a", new)
    assert not await stores.budgets.write("job:a", new)
    before = list(await stores.budgets.shards("job:a"))
    other = replace(before[1], shard=Shard(number=1, tokens=5))
    assert await stores.budgets.write("job:a", [other])
    all_three = [replace(one, shard=replace(one.shard, tokens=9)) for one in before]
    assert not await stores.budgets.write("job:a", all_three)
    assert [stored.shard.tokens for stored in await stores.budgets.shards("job:a")] == [0, 5, 0]


async def test_a_place_is_held_by_one_until_it_is_released(stores: Stores) -> None:
    assert await stores.slots.slots("tenant") == []
    held = await stores.slots.take("tenant", SLOT, None)
    assert held == SLOT
    assert await stores.slots.take("tenant", replace(SLOT, token="two"), None) is None
    assert await stores.slots.slots("tenant") == [SLOT]
    assert await stores.slots.slots("another") == []
    await stores.slots.release("tenant", held)
    await stores.slots.release("tenant", held)
    assert await stores.slots.slots("tenant") == []


async def test_a_place_that_ran_out_is_taken_over_by_one_and_not_released_by_its_old_holder(
    stores: Stores,
) -> None:
    old = await stores.slots.take("tenant", SLOT, None)
    assert old is not None
    (seen,) = await stores.slots.slots("tenant")
    takers = [stores.slots.take("tenant", replace(SLOT, token=f"t{n}"), seen) for n in range(6)]
    won = [held for held in await asyncio.gather(*takers) if held is not None]
    assert len(won) == 1
    await stores.slots.release("tenant", old)
    assert await stores.slots.slots("tenant") == won


async def test_many_places_of_one_tenant_are_read(stores: Stores) -> None:
    for number in (3, 12, 105):
        assert await stores.slots.take("tenant", replace(SLOT, number=number), None)
    await stores.slots.advance("tenant", Meter(), None, "job_a")
    assert [slot.number for slot in await stores.slots.slots("tenant")] == [3, 12, 105]


async def test_a_meter_moves_only_if_nobody_moved_it(stores: Stores) -> None:
    first = await stores.slots.meter("tenant")
    assert (first.meter, first.version) == (Meter(), None)
    moved = Meter(full_at=minutes_later(2), next_start=minutes_later(1), asked=MOMENT)
    assert await stores.slots.advance("tenant", moved, None, "job_a")
    assert not await stores.slots.advance("tenant", Meter(), None, "job_b")
    stored = await stores.slots.meter("tenant")
    assert stored.meter == moved
    assert await stores.slots.advance("tenant", Meter(), stored.version)
    assert not await stores.slots.advance("tenant", moved, stored.version, "job_b")
    assert await stores.slots.place("tenant", "job_a") == Place(start=minutes_later(1), asked=MOMENT)
    assert await stores.slots.place("tenant", "job_b") is None


async def test_a_place_in_the_line_is_one_jobs_until_it_leaves(stores: Stores) -> None:
    await stores.slots.advance("tenant", Meter(next_start=minutes_later(1)), None, "job_a")
    assert await stores.slots.place("another", "job_a") is None
    await stores.slots.leave("tenant", "job_a")
    await stores.slots.leave("tenant", "job_a")
    assert await stores.slots.place("tenant", "job_a") is None


@pytest.mark.parametrize("name", ["a/b", "a#b", ""])
async def test_names_that_no_storage_takes_are_refused(stores: Stores, name: str) -> None:
    with pytest.raises(ValueError, match="the provider"):
        await stores.breakers.load(name)
    if name:
        with pytest.raises(ValueError, match="the counter"):
            await stores.budgets.shards(name)
        with pytest.raises(ValueError, match="the tenant"):
            await stores.slots.slots(name)


def over(stores: Stores, budget: BudgetPolicy, limits: TenantLimits) -> Services:
    """The application upon these stores, by the real clock."""
    pipe = pipeline()
    return build_services(
        World(),
        pipeline=replace(
            pipe,
            sources={SOURCE: replace(pipe.sources[SOURCE], limits=limits)},
            tasks={TASK: replace(pipe.tasks[TASK], budget=budget)},
        ),
        budgets=stores.budgets,
        slots=stores.slots,
        clock=SystemClock(),
        randomness=SystemRandomness(),
    )


async def test_parallel_reservations_use_the_whole_budget_of_a_day_and_no_more(stores: Stores) -> None:
    services = over(stores, BudgetPolicy(day_tokens=60, job_tokens=50), TenantLimits())
    policy = services.pipeline.tasks[TASK]

    async def one(number: int) -> int:
        try:
            amount = Usage(tokens=7)
            reservation = await reserve(services, new_job(World(), f"evt_{number}"), policy, amount)
        except BudgetExceeded:
            return 0
        if number % 3:
            return 7
        await settle(services, reservation, Usage(tokens=5))
        return 5

    spent = sum(await asyncio.gather(*(one(number) for number in range(20))))
    assert 30 < spent <= 60
    await reserve(services, new_job(World(), "evt_rest"), policy, Usage(tokens=60 - spent))
    with pytest.raises(BudgetExceeded):
        await reserve(services, new_job(World(), "evt_over"), policy, Usage(tokens=1))
    counted = await stores.budgets.shards(f"day:{TASK}:{services.clock.now():%Y%m%d}")
    assert sum(stored.shard.tokens for stored in counted) == 60


async def test_parallel_jobs_of_one_tenant_hold_no_more_places_than_there_are(stores: Stores) -> None:
    services = over(stores, BudgetPolicy(), TenantLimits(concurrent=3))
    decided, all_decided = 0, asyncio.Event()

    def count_decided() -> None:
        nonlocal decided
        decided += 1
        if decided == 10:
            all_decided.set()

    async def one(number: int) -> bool:
        until = services.clock.now() + timedelta(minutes=5)
        try:
            async with tenant_slot(services, new_job(World(), f"evt_{number}"), until):
                count_decided()
                await all_decided.wait()
        except MustWait:
            count_decided()
            return False
        return True

    assert sum(await asyncio.gather(*(one(number) for number in range(10)))) == 3
    async with tenant_slot(services, new_job(World()), services.clock.now() + timedelta(minutes=5)):
        pass
