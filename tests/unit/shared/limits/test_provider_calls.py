"""One call through breaker, budget and time limit: what it costs, and what comes of its failures."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.calls.calling import NO_COST, BudgetExceeded, MustWait, Usage
from shared.calls.failures import CallFailed, FailureKind
from shared.calls.resting import TriedInVain
from shared.errors import ClaimLost, JobCancelled, PermanentError, StorageUnavailable
from shared.limits.breaker import CLOSED
from shared.limits.budgets import Reservation
from shared.limits.provider_calls import GuardedCalls
from shared.pipeline.policies import BreakerPolicy, BudgetPolicy
from shared.services import Services
from tests.support.application import TASK, build_services, new_job, pipeline
from tests.support.fakes import World

TIMEOUT = timedelta(seconds=30)
BUDGET = BudgetPolicy(job_tokens=100)
ESTIMATE = Usage(tokens=60)


class Setting:
    """A job's calls to a provider that rests after two failures."""

    def __init__(self) -> None:
        self.world = World()
        pipe = pipeline()
        self.policy = replace(pipe.tasks[TASK], budget=BUDGET)
        pipe = replace(pipe, tasks={TASK: self.policy}, providers={"openai": BreakerPolicy(failures=2)})
        self.services: Services = build_services(self.world, pipeline=pipe)
        self.job = new_job(self.world)
        self.calls = GuardedCalls(self.services, self.job, self.policy)
        self.made = 0

    def answering(self, answer: object) -> Callable[[], Awaitable[object]]:
        async def call() -> object:
            self.made += 1
            if isinstance(answer, BaseException):
                raise answer
            return answer

        return call

    async def run(self, answer: object, estimate: Usage = NO_COST, used: Usage | None = None) -> object:
        price = None if used is None else lambda _: used
        return await self.calls.run(
            "openai", self.answering(answer), timeout=TIMEOUT, estimate=estimate, used=price
        )

    async def fail(
        self, kind: FailureKind = FailureKind.NOT_SENT, times: int = 1, estimate: Usage = NO_COST
    ) -> CallFailed:
        for _ in range(times - 1):
            await self.fail(kind, estimate=estimate)
        with pytest.raises(CallFailed) as caught:
            await self.run(CallFailed("openai", kind), estimate)
        return caught.value

    @property
    def spent(self) -> int:
        return self.world.budgets.spent(f"job:{self.job.job_id}:0")[0]


@pytest.fixture
def given() -> Setting:
    return Setting()


async def test_a_call_without_cost_asks_for_the_breaker_alone(given: Setting) -> None:
    assert [await given.run("one"), await given.run("two")] == ["one", "two"]
    assert (given.world.breakers.calls, given.world.budgets.calls) == (["load"], [])
    assert given.world.telemetry.counted("provider_calls", provider="openai", outcome="answered") == 2
    assert given.world.telemetry.observed("provider_call_seconds", provider="openai") == [0.0, 0.0]


async def test_what_a_call_really_cost_takes_the_estimates_place(given: Setting) -> None:
    await given.run("answer", ESTIMATE, Usage(tokens=11))
    assert given.spent == 11
    assert given.world.telemetry.observed("provider_tokens", provider="openai") == [11]


async def test_without_figures_the_estimate_is_what_it_cost(given: Setting) -> None:
    await given.run("answer", ESTIMATE)
    assert given.spent == 60


async def test_a_call_whose_cost_is_only_known_afterwards_is_counted(given: Setting) -> None:
    await given.run("answer", used=Usage(tokens=150))
    assert given.spent == 150
    with pytest.raises(BudgetExceeded):
        await given.run("answer", used=Usage(tokens=1))


async def test_over_the_budget_nothing_is_called(given: Setting) -> None:
    with pytest.raises(BudgetExceeded):
        await given.run("answer", Usage(tokens=101))
    assert given.made == 0


@pytest.mark.parametrize(
    ("kind", "left"),
    [
        (FailureKind.NOT_SENT, 0),
        (FailureKind.THROTTLED, 0),
        (FailureKind.UNAVAILABLE, 0),
        (FailureKind.REJECTED, 0),
        (FailureKind.UNCLEAR, 60),
    ],
)
async def test_what_was_not_executed_cost_nothing_and_the_rest_counts_as_spent(
    given: Setting, kind: FailureKind, left: int
) -> None:
    failure = await given.fail(kind, estimate=ESTIMATE)
    assert (failure.kind, given.spent) == (kind, left)
    assert given.world.telemetry.counted("provider_calls", provider="openai", outcome=kind.value) == 1


async def test_failures_in_a_row_let_the_provider_rest(given: Setting) -> None:
    await given.fail(FailureKind.UNCLEAR, 2)
    with pytest.raises(MustWait) as caught:
        await given.run("answer", ESTIMATE)
    assert caught.value.reason == "provider_resting"
    assert (given.made, given.spent) == (2, 0)


async def test_a_refusal_of_the_request_is_a_healthy_providers_answer(given: Setting) -> None:
    await given.fail(FailureKind.NOT_SENT)
    await given.fail(FailureKind.REJECTED, 5)
    assert (await given.world.breakers.load("openai")).breaker == CLOSED


async def test_a_failure_is_logged_with_provider_status_and_job(
    given: Setting, caplog: pytest.LogCaptureFixture
) -> None:
    failure = CallFailed("openai", FailureKind.UNCLEAR, status=502)
    with pytest.raises(CallFailed):
        await given.run(failure)
    assert f"a call of {given.job.job_id} failed: openai: unclear (status 502)." in caplog.messages


async def test_a_probe_in_vain_is_told_as_one_with_the_end_of_the_rest(given: Setting) -> None:
    await given.fail(times=2)
    given.world.clock.advance(15)
    failure = await given.fail(FailureKind.UNAVAILABLE)
    assert isinstance(failure, TriedInVain)
    assert failure.until >= given.world.clock.now() + timedelta(seconds=30)
    assert failure.retry_after == failure.until - given.world.clock.now()
    assert failure.kind is FailureKind.UNAVAILABLE


async def test_a_probe_that_is_answered_ends_the_rest(given: Setting) -> None:
    await given.fail(times=2)
    given.world.clock.advance(15)
    await given.run("answer")
    await given.run("answer")
    assert given.made == 4


async def test_a_probe_that_is_over_the_budget_makes_room_for_another(given: Setting) -> None:
    await given.fail(times=2)
    given.world.clock.advance(15)
    with pytest.raises(BudgetExceeded):
        await given.run("answer", Usage(tokens=101))
    assert await given.run("answer") == "answer"


async def test_a_probe_that_tells_nothing_of_the_provider_makes_room_for_another(given: Setting) -> None:
    await given.fail(times=2)
    given.world.clock.advance(15)
    with pytest.raises(PermanentError):
        await given.run(PermanentError("unfit"))
    assert await given.run("answer") == "answer"


@pytest.mark.parametrize(
    ("error", "left"),
    [(ClaimLost(), 0), (JobCancelled(), 0), (PermanentError("unfit"), 60), (KeyError(), 60)],
)
async def test_only_what_was_surely_not_sent_is_paid_back(
    given: Setting, error: Exception, left: int
) -> None:
    with pytest.raises(type(error)):
        await given.run(error, ESTIMATE)
    assert given.spent == left


async def test_a_call_that_outlives_its_time_is_unclear(given: Setting) -> None:
    with pytest.raises(CallFailed) as caught:
        await given.calls.run("openai", lambda: asyncio.sleep(60), timeout=timedelta(milliseconds=10))
    assert caught.value.kind is FailureKind.UNCLEAR


async def test_a_time_limit_of_the_calls_own_is_not_taken_for_ours(given: Setting) -> None:
    with pytest.raises(TimeoutError):
        await given.run(TimeoutError())


@pytest.mark.parametrize("answer", ["answer", CallFailed("openai", FailureKind.UNAVAILABLE)])
async def test_once_called_an_outage_of_storage_hides_no_outcome(given: Setting, answer: object) -> None:
    async def call() -> object:
        given.world.storage_down()
        if isinstance(answer, Exception):
            raise answer
        return answer

    run = given.calls.run("openai", call, timeout=TIMEOUT, estimate=ESTIMATE, used=lambda _: Usage(tokens=1))
    if isinstance(answer, Exception):
        with pytest.raises(CallFailed):
            await run
    else:
        assert await run == answer
    assert given.world.telemetry.counted("limits_not_written") >= 1
    assert given.spent == 60


async def test_figures_that_cannot_be_read_do_not_cost_the_answer(given: Setting) -> None:
    def unreadable(_: object) -> Usage:
        raise KeyError("usage")

    answer = await given.calls.run(
        "openai", given.answering("answer"), timeout=TIMEOUT, estimate=ESTIMATE, used=unreadable
    )
    assert (answer, given.spent) == ("answer", 60)


async def test_without_storage_nothing_is_called(given: Setting) -> None:
    given.world.storage_down()
    with pytest.raises(StorageUnavailable):
        await given.run("answer")
    assert given.made == 0


def test_a_reservation_of_nothing_holds_nothing() -> None:
    assert Reservation(amount=NO_COST).counters == ()
