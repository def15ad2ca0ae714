"""A provider is away for an hour while a thousand jobs want it: breakers and calls, in virtual time."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from shared.calls.calling import MustWait
from shared.calls.failures import CallFailed, FailureKind
from shared.calls.resting import TriedInVain
from shared.decisions import PutOff, RetryAfter, Rules, decide
from shared.errors import AfterhookError
from shared.jobs import Job
from shared.limits.breakers import Breakers
from shared.limits.provider_calls import GuardedCalls
from shared.pipeline.policies import BreakerPolicy
from shared.services import Services
from tests.support.application import TASK, build_services, new_job, pipeline
from tests.support.fakes import World
from tests.support.fakes.time import START
from tests.support.virtual_time import LoopClock, run_virtually

JOBS, PROCESSES, AT_ONCE = 1000, 4, 16
OUTAGE = timedelta(hours=1)
CALL_SECONDS = 2.0
BACK = START + OUTAGE


@dataclass(slots=True)
class Provider:
    """Away until BACK; remembers when it was called and when it served."""

    kind: FailureKind
    called: list[datetime] = field(default_factory=list)
    served: list[datetime] = field(default_factory=list)

    async def call(self, clock: LoopClock) -> None:
        self.called.append(clock.now())
        await asyncio.sleep(CALL_SECONDS)
        if clock.now() < BACK:
            raise CallFailed("openai", self.kind)
        self.served.append(clock.now())


class Fleet:
    """Processes with a copy of the breakers each, one store, and jobs that come again as decided."""

    def __init__(self, provider: Provider, policy: BreakerPolicy) -> None:
        self.provider = provider
        self.pipeline = replace(pipeline(), providers={"openai": policy})
        self.clock = LoopClock()
        self.world = World(clock=self.clock)
        self.processes = [self._process() for _ in range(PROCESSES)]
        self.room = asyncio.Semaphore(PROCESSES * AT_ONCE)
        self.wake_ups = 0
        self.attempts: Counter[str] = Counter()
        self.longest_wait = timedelta()

    def _process(self) -> Services:
        breakers = Breakers(self.world.breakers, self.clock, self.world.randomness)
        return build_services(self.world, breakers=breakers, pipeline=self.pipeline)

    async def live(self, number: int) -> None:
        """One job from its first message to its success."""
        services = self.processes[number % PROCESSES]
        policy = services.pipeline.tasks[TASK]
        rules = Rules(retry=policy.retry, poll=policy.poll)
        job = new_job(self.world, f"evt_{number}")
        while True:
            ended = await self._run(services, job)
            if ended is None:
                return
            if isinstance(ended, TriedInVain):
                ended = MustWait("provider_resting", ended.until)
            now = self.clock.now()
            match decide(ended, job, rules, now, self.world.randomness.fraction()):
                case PutOff(until):
                    wait = until - now
                    self.longest_wait = max(self.longest_wait, wait)
                case RetryAfter(delay):
                    wait = delay
                    job = job.changed(now, attempt=job.attempt + 1)
                    self.attempts[job.job_id] += 1
                case other:
                    raise AssertionError(other)
            await asyncio.sleep(wait.total_seconds())

    async def _run(self, services: Services, job: Job) -> AfterhookError | None:
        async with self.room:
            self.wake_ups += 1
            calls = GuardedCalls(services, job, services.pipeline.tasks[TASK])
            try:
                await calls.run(
                    "openai", lambda: self.provider.call(self.clock), timeout=timedelta(seconds=30)
                )
            except (CallFailed, MustWait) as error:
                return error
            return None


async def outlast(jobs: int, kind: FailureKind, policy: BreakerPolicy) -> Fleet:
    fleet = Fleet(Provider(kind), policy)
    await asyncio.gather(*(fleet.live(number) for number in range(jobs)))
    return fleet


@pytest.fixture(scope="module")
def a_thousand() -> Fleet:
    return run_virtually(outlast(JOBS, FailureKind.UNAVAILABLE, BreakerPolicy()))


def test_a_thousand_jobs_outlast_an_hour_with_few_calls_and_hardly_an_attempt(a_thousand: Fleet) -> None:
    during = [at for at in a_thousand.provider.called if at < BACK]
    assert len(a_thousand.provider.served) == JOBS
    assert len(during) < 200
    # Spent are the attempts of the calls that began before the breaker opened, none while it was open.
    assert sum(a_thousand.attempts.values()) < 2 * PROCESSES * AT_ONCE
    assert max(a_thousand.attempts.values()) == 1


def test_they_wake_neither_all_at_once_nor_too_late_nor_too_often(a_thousand: Fleet) -> None:
    served = a_thousand.provider.served
    seconds = Counter(int(at.timestamp()) for at in served)
    assert BACK < min(served) < BACK + timedelta(minutes=8)
    assert max(served) < BACK + timedelta(minutes=15)
    assert max(seconds.values()) < JOBS / 10
    assert a_thousand.longest_wait < timedelta(minutes=10)
    assert a_thousand.wake_ups < 40 * JOBS


def test_calls_without_an_answer_open_the_breaker_too() -> None:
    fleet = run_virtually(outlast(50, FailureKind.UNCLEAR, BreakerPolicy()))
    assert len(fleet.provider.served) == 50
    assert len(fleet.provider.called) < 200


def test_a_job_alone_outlasts_it_too_once_the_breaker_is_open() -> None:
    """It tries the provider out again and again, and that spends no attempt."""
    fleet = run_virtually(outlast(1, FailureKind.UNAVAILABLE, BreakerPolicy(failures=2)))
    assert len(fleet.provider.served) == 1
    assert sum(fleet.attempts.values()) == 2
    assert len(fleet.provider.called) < 30
