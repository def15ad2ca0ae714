"""The breakers of one process: what a good call costs, and what others' news does."""

import asyncio
from datetime import timedelta

import pytest

from shared.calls.calling import MustWait
from shared.calls.failures import CallFailed, FailureKind
from shared.errors import StorageUnavailable
from shared.limits.breaker import Breaker
from shared.limits.breakers import Breakers
from shared.pipeline.policies import BreakerPolicy
from tests.support.fakes import World

POLICY = BreakerPolicy(failures=2)
TIMEOUT = timedelta(seconds=30)
DOWN = CallFailed("openai", FailureKind.NOT_SENT)


def process(world: World) -> Breakers:
    return Breakers(world.breakers, world.clock, world.randomness)


async def fail(breakers: Breakers, times: int = 1) -> None:
    for _ in range(times):
        admitted = await breakers.admit("openai", POLICY, TIMEOUT)
        await breakers.failed(admitted, DOWN)


async def stored(world: World) -> Breaker:
    return (await world.breakers.load("openai")).breaker


async def resting(breakers: Breakers) -> MustWait:
    with pytest.raises(MustWait) as caught:
        await breakers.admit("openai", POLICY, TIMEOUT)
    assert caught.value.reason == "provider_resting"
    return caught.value


async def test_good_calls_read_once_in_a_while_and_write_nothing() -> None:
    world = World()
    breakers = process(world)
    for _ in range(10):
        await breakers.succeeded(await breakers.admit("openai", POLICY, TIMEOUT))
    assert world.breakers.calls == ["load"]
    world.clock.advance(2)
    await breakers.succeeded(await breakers.admit("openai", POLICY, TIMEOUT))
    assert world.breakers.calls == ["load", "load"]


async def test_failures_are_counted_over_all_processes() -> None:
    world = World()
    one, other = process(world), process(world)
    await fail(one)
    await fail(other)
    world.clock.advance(2)
    assert (await resting(one)).until >= world.clock.now() + timedelta(seconds=13)


async def test_a_success_after_a_failure_is_told_to_all() -> None:
    world = World()
    breakers = process(world)
    await fail(breakers)
    await breakers.succeeded(await breakers.admit("openai", POLICY, TIMEOUT))
    assert await stored(world) == Breaker()
    await fail(breakers)
    await breakers.admit("openai", POLICY, TIMEOUT)


async def test_a_rest_is_known_without_asking_until_it_ends() -> None:
    world = World()
    breakers = process(world)
    await fail(breakers, 2)
    asked = len(world.breakers.calls)
    for _ in range(5):
        world.clock.advance(2)
        await resting(breakers)
    assert len(world.breakers.calls) == asked


async def test_of_many_who_come_at_the_end_of_a_rest_one_tries_out() -> None:
    world = World()
    fleet = [process(world) for _ in range(5)]
    await fail(fleet[0], 2)
    world.clock.advance(15)
    answers = await asyncio.gather(
        *(one.admit("openai", POLICY, TIMEOUT) for one in fleet for _ in range(4)), return_exceptions=True
    )
    probes = [answer for answer in answers if not isinstance(answer, MustWait)]
    assert len(answers) == 20
    assert len(probes) == 1


async def test_a_probe_that_succeeds_lets_all_pass_again() -> None:
    world = World()
    one, other = process(world), process(world)
    await fail(one, 2)
    world.clock.advance(15)
    probe = await other.admit("openai", POLICY, TIMEOUT)
    await resting(one)
    await other.succeeded(probe)
    await one.admit("openai", POLICY, TIMEOUT)


async def test_a_probe_that_fails_says_how_long_its_job_waits() -> None:
    world = World()
    breakers = process(world)
    await fail(breakers, 2)
    world.clock.advance(15)
    probe = await breakers.admit("openai", POLICY, TIMEOUT)
    wait = await breakers.failed(probe, DOWN)
    assert wait is not None
    assert wait.until >= world.clock.now() + timedelta(seconds=30)
    world.clock.advance(29)
    await resting(breakers)


async def test_a_failure_that_is_no_probe_means_no_wait() -> None:
    breakers = process(World())
    admitted = await breakers.admit("openai", POLICY, TIMEOUT)
    assert await breakers.failed(admitted, DOWN) is None


async def test_a_probe_given_back_leaves_room_for_the_next() -> None:
    world = World()
    one, other = process(world), process(world)
    await fail(one, 2)
    world.clock.advance(15)
    await one.give_back(await one.admit("openai", POLICY, TIMEOUT))
    assert (await other.admit("openai", POLICY, TIMEOUT)).probe is not None


async def test_a_probe_whose_worker_died_is_replaced_when_its_lease_ends() -> None:
    world = World()
    one, other = process(world), process(world)
    await fail(one, 2)
    world.clock.advance(15)
    await one.admit("openai", POLICY, TIMEOUT)
    world.clock.advance(TIMEOUT + timedelta(seconds=4))
    await resting(other)
    world.clock.advance(1)
    assert (await other.admit("openai", POLICY, TIMEOUT)).probe is not None


async def test_parallel_failures_are_all_counted() -> None:
    world = World()
    policy = BreakerPolicy(failures=100)
    fleet = [process(world) for _ in range(6)]
    admitted = [await one.admit("openai", policy, TIMEOUT) for one in fleet]
    await asyncio.gather(*(one.failed(leave, DOWN) for one, leave in zip(fleet, admitted, strict=True)))
    assert (await stored(world)).failures == 6


async def test_providers_rest_each_for_itself() -> None:
    world = World()
    breakers = process(world)
    await fail(breakers, 2)
    await breakers.admit("video", POLICY, TIMEOUT)


async def test_without_storage_nobody_is_admitted() -> None:
    world = World()
    world.storage_down()
    with pytest.raises(StorageUnavailable):
        await process(world).admit("openai", POLICY, TIMEOUT)
