"""A provider is away for an hour while many jobs want an effect of it: real workers, in virtual time."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar

import pytest

from shared.calls.failures import CallFailed, FailureKind
from shared.effects.contract import Done, EffectContract
from shared.jobs import JobState
from shared.limits.breakers import Breakers
from shared.messages import JobMessage
from shared.pipeline.policies import BreakerPolicy
from shared.ports import RowKind
from shared.tasks.base import TaskContext, TaskInput, TaskResult
from shared.worker.run import Worker
from tests.support.application import TASK, build_services, new_job, pipeline, store
from tests.support.fakes import World
from tests.support.fakes.bus import Sent
from tests.support.fakes.time import START
from tests.support.virtual_time import LoopClock, run_virtually

PROCESSES, AT_ONCE = 4, 16
SEVERAL = 60
OUTAGE = timedelta(hours=1)
CALL_SECONDS = 2.0
TICK_SECONDS = 1.0
BACK = START + OUTAGE
PROVIDER = "openai"
KEYED = EffectContract(
    action="order",
    provider=PROVIDER,
    version=1,
    call_timeout=timedelta(seconds=20),
    key_window=timedelta(hours=24),
)
FINDABLE = replace(KEYED, key_window=None, lookup_lag=timedelta(seconds=30))


@dataclass(slots=True)
class Provider:
    """Away until BACK; counts what it was asked and what it did, by key."""

    clock: LoopClock
    kind: FailureKind
    called: list[datetime] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)

    async def send(self, key: str) -> Done:
        await self._serve()
        self.done[key] += 1
        return Done(external_id=f"order_{len(self.done)}")

    async def look_up(self, key: str) -> Done | None:
        await self._serve()
        return Done(external_id="order") if key in self.done else None

    async def _serve(self) -> None:
        self.called.append(self.clock.now())
        await asyncio.sleep(CALL_SECONDS)
        if self.clock.now() < BACK:
            raise CallFailed(PROVIDER, self.kind)


class OrderTask:
    """One effect, and its id as the result."""

    name: ClassVar[str] = TASK
    max_input_bytes: ClassVar[int] = 1024

    def __init__(self, provider: Provider, contract: EffectContract) -> None:
        self._provider = provider
        self._contract = contract

    async def run(self, task_input: TaskInput, context: TaskContext) -> TaskResult:
        request = {"text": task_input.content.decode()}
        done = await context.effects.perform(self._contract, request, self._provider)
        return TaskResult(content=done.external_id.encode(), content_type="text/plain")


class Fleet:
    """Processes with a copy of the breakers each, over one storage and one bus."""

    def __init__(self, kind: FailureKind, contract: EffectContract, policy: BreakerPolicy) -> None:
        self.clock = LoopClock()
        self.world = World(clock=self.clock)
        self.provider = Provider(self.clock, kind)
        self._task = OrderTask(self.provider, contract)
        self._pipeline = replace(pipeline(), providers={PROVIDER: policy})
        self._workers = [self._worker() for _ in range(PROCESSES)]
        self._room = asyncio.Semaphore(PROCESSES * AT_ONCE)
        self.handled = 0

    def _worker(self) -> Worker:
        breakers = Breakers(self.world.breakers, self.clock, self.world.randomness)
        services: Any = build_services(self.world, self._task, breakers=breakers, pipeline=self._pipeline)
        return Worker(services)

    async def outlast(self, jobs: int) -> None:
        """Queue the jobs, and deliver what is due until nothing is left in the queue."""
        for number in range(jobs):
            job = await store(self.world, new_job(self.world, f"evt_{number}"))
            await self.world.bus.send(JobMessage.for_job(job))
        running: set[asyncio.Task[None]] = set()
        while running or self.world.bus.waiting():
            for sent in self.world.bus.take_due():
                await self._room.acquire()
                running.add(asyncio.create_task(self._deliver(sent)))
            await asyncio.sleep(TICK_SECONDS if running else self._rest())
            for task in [task for task in running if task.done()]:
                running.remove(task)
                task.result()  # a message that belongs in the dead-letter queue fails the test

    def _rest(self) -> float:
        """Seconds until the next message is due."""
        dues = [max(sent.sent_at, sent.at or START) for sent in self.world.bus.waiting()]
        return max(TICK_SECONDS, (min(dues) - self.clock.now()).total_seconds()) if dues else 0.0

    async def _deliver(self, sent: Sent) -> None:
        self.handled += 1
        try:
            worker = self._workers[self.handled % PROCESSES]
            await worker.handle(sent.body, sent.properties, sent.message_id)
        finally:
            self._room.release()


def outlast(
    jobs: int,
    kind: FailureKind,
    contract: EffectContract = KEYED,
    policy: BreakerPolicy = BreakerPolicy(),  # noqa: B008  immutable
) -> Fleet:
    async def run() -> Fleet:
        fleet = Fleet(kind, contract, policy)
        await fleet.outlast(jobs)
        return fleet

    return run_virtually(run())


def assert_all_ended_well(fleet: Fleet, jobs: int) -> None:
    """Each succeeded, did its effect once, recorded it, and left nothing open."""
    stored = fleet.world.jobs.all_jobs()
    assert Counter(job.state for job in stored) == {JobState.SUCCEEDED: jobs}
    assert sorted(fleet.provider.done.values()) == [1] * jobs
    assert {key.partition(":")[0] for key in fleet.provider.done} == {job.job_id for job in stored}
    assert not any(job.open_effects for job in stored)
    assert fleet.world.open.keys() == set()


def attempts(fleet: Fleet) -> Counter[int]:
    """How many jobs spent how many attempts besides their first."""
    return Counter(job.attempt for job in fleet.world.jobs.all_jobs())


def assert_few_calls_and_attempts(fleet: Fleet) -> None:
    """Spent are the attempts of the calls that began before the breaker opened, none while it was open."""
    during = [at for at in fleet.provider.called if at < BACK]
    assert 0 < len(during) < 200
    spent = attempts(fleet)
    assert set(spent) <= {0, 1}
    assert spent[1] < 2 * PROCESSES * AT_ONCE


@pytest.fixture(scope="module")
def several() -> Fleet:
    return outlast(SEVERAL, FailureKind.UNAVAILABLE)


def test_jobs_outlast_an_hour_with_few_calls_and_hardly_an_attempt(several: Fleet) -> None:
    assert_all_ended_well(several, SEVERAL)
    assert_few_calls_and_attempts(several)


@pytest.mark.slow  # sixteen thousand messages: more than a minute
def test_so_do_a_thousand() -> None:
    fleet = outlast(1000, FailureKind.UNAVAILABLE)
    assert_all_ended_well(fleet, 1000)
    assert_few_calls_and_attempts(fleet)
    assert fleet.handled < 40 * 1000


async def test_a_wait_leaves_one_record_of_the_effect_and_one_of_each_attempt(several: Fleet) -> None:
    """However often a job woke up in vain."""
    jobs = several.world.jobs
    for job in jobs.all_jobs():
        assert job.claim > 2 * (job.attempt + 1)
        assert len(await jobs.rows(job.job_id, RowKind.EFFECT)) == 1
        assert len(await jobs.rows(job.job_id, RowKind.ATTEMPT)) == job.attempt + 1


@pytest.mark.parametrize("contract", [KEYED, FINDABLE], ids=["keyed", "findable"])
def test_calls_without_an_answer_spend_hardly_an_attempt_and_double_nothing(contract: EffectContract) -> None:
    fleet = outlast(40, FailureKind.UNCLEAR, contract)
    assert_all_ended_well(fleet, 40)
    assert len([at for at in fleet.provider.called if at < BACK]) < 200
    assert set(attempts(fleet)) <= {0, 1}


def test_a_job_alone_outlasts_it_too_once_the_breaker_is_open() -> None:
    fleet = outlast(1, FailureKind.UNAVAILABLE, policy=BreakerPolicy(failures=2))
    assert_all_ended_well(fleet, 1)
    assert attempts(fleet) == {2: 1}
    assert len(fleet.provider.called) < 30
