"""Calls that the end of their attempt cuts: what they tell of the provider."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.limits.breaker import CLOSED, Breaker
from shared.limits.provider_calls import GuardedCalls
from shared.pipeline.policies import BreakerPolicy
from shared.services import Services
from tests.support.application import TASK, build_services, new_job, pipeline
from tests.support.fakes import World

ATTEMPT = timedelta(seconds=20)
CALL = timedelta(seconds=60)


class Calls:
    """Calls to a provider that rests after two failures, within attempts of 20 s."""

    def __init__(self) -> None:
        self.world = World()
        pipe = pipeline()
        self.policy = replace(pipe.tasks[TASK], attempt_timeout=ATTEMPT)
        pipe = replace(pipe, tasks={TASK: self.policy}, providers={"openai": BreakerPolicy(failures=2)})
        self.services: Services = build_services(self.world, pipeline=pipe)

    async def cut(self, *, begun: float, cut: float, limited: bool = True) -> None:
        """A call that nobody answers, begun and cut so many seconds after its attempt's begin."""
        clock, asked = self.world.clock, asyncio.Event()
        until = clock.now() + ATTEMPT if limited else None
        calls = GuardedCalls(self.services, new_job(self.world), self.policy, until)

        async def silent() -> None:
            asked.set()
            await asyncio.Event().wait()

        clock.advance(begun)
        running = asyncio.create_task(calls.run("openai", silent, timeout=CALL))
        await asked.wait()
        clock.advance(cut - begun)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    async def breaker(self) -> Breaker:
        return (await self.world.breakers.load("openai")).breaker


@pytest.fixture
def calls() -> Calls:
    return Calls()


async def test_a_provider_that_says_nothing_until_the_attempts_are_over_rests(calls: Calls) -> None:
    for _ in range(2):
        await calls.cut(begun=1, cut=20)
    assert (await calls.breaker()).rests == 1
    assert calls.world.telemetry.counted("provider_calls", provider="openai", outcome="interrupted") == 2


@pytest.mark.parametrize(
    ("begun", "cut", "limited"),
    [(11, 20, True), (1, 15, True), (1, 20, False)],
    ids=["begun late", "cut by another's failure", "of the ledger, which ends its calls itself"],
)
async def test_a_call_that_was_cut_for_another_reason_says_nothing_of_the_provider(
    calls: Calls, begun: float, cut: float, limited: bool
) -> None:
    for _ in range(3):
        await calls.cut(begun=begun, cut=cut, limited=limited)
    assert await calls.breaker() == CLOSED


async def test_a_probe_that_is_cut_makes_room_for_another(calls: Calls) -> None:
    for _ in range(2):
        await calls.cut(begun=1, cut=20)
    calls.world.clock.advance(timedelta(minutes=10))
    await calls.cut(begun=1, cut=2)
    await calls.cut(begun=1, cut=20)  # another may try, and its silence lets the provider rest on
    assert (await calls.breaker()).rests == 2


async def test_an_outage_of_storage_does_not_hold_up_the_end(calls: Calls) -> None:
    await calls.cut(begun=1, cut=20)
    calls.world.breakers.fail_next("write")
    await calls.cut(begun=1, cut=20)
    assert calls.world.telemetry.counted("limits_not_written") == 1
