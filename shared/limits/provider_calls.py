"""One job's way to the providers: breaker, budget, time limit, and the count of what happened.

Once the call was made, its own outcome is all that leaves here: what cannot be written down about it then
(the breaker's news, what it really cost) is left out, because losing the answer would cost more.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TypeVar

from shared.calls.calling import NO_COST, MustWait, Usage
from shared.calls.failures import EXECUTED_NOTHING, CallFailed, FailureKind
from shared.calls.resting import TriedInVain
from shared.errors import (
    AfterhookError,
    ClaimLost,
    JobCancelled,
    NoTimeLeft,
    StorageUnavailable,
    where_raised,
)
from shared.failpoints import Point, reach
from shared.jobs import Job
from shared.limits.breakers import Admitted
from shared.limits.budgets import Reservation, reserve, settle
from shared.pipeline import TaskPolicy
from shared.pipeline.policies import BreakerPolicy
from shared.services import Services

T = TypeVar("T")
log = logging.getLogger("afterhook.limits")
_DEFAULT = BreakerPolicy()
_NOT_SENT = (ClaimLost, JobCancelled, NoTimeLeft, StorageUnavailable)
"""What the ledger raises instead of sending."""
_CLOCKS_DIFFER = timedelta(seconds=1)
"""By so much the clock on the wall and that of the event loop may differ over an attempt."""
_AFTERWARDS_SECONDS = 5.0
"""How long writing down may take: an effect's result still has to be written within the lease."""


class GuardedCalls:
    """Implements `ProviderCalls` for one run of `job`."""

    def __init__(
        self, services: Services, job: Job, policy: TaskPolicy, until: datetime | None = None
    ) -> None:
        """`until` is when the attempt's time is up, which cuts a call; None where no call lasts so long."""
        self._services = services
        self._job = job
        self._policy = policy
        self._until = until

    async def run(
        self,
        provider: str,
        call: Callable[[], Awaitable[T]],
        *,
        timeout: timedelta,
        estimate: Usage = NO_COST,
        used: Callable[[T], Usage] | None = None,
    ) -> T:
        """The call's answer.

        Raises CallFailed (TriedInVain when it tried out a resting provider); and before the call is made
        MustWait, BudgetExceeded or StorageUnavailable. What `call` raises besides passes through.
        """
        services = self._services
        rules = services.pipeline.providers.get(provider, _DEFAULT)
        admitted = await services.breakers.admit(provider, rules, timeout)
        await reach(Point.LIMITS_AFTER_ADMISSION)
        reservation = await self._reserve(admitted, estimate, metered=used is not None)
        await reach(Point.LIMITS_BEFORE_CALL)
        started = services.clock.now()
        try:
            answer = await _within(provider, call, timeout)
        except CallFailed as failure:
            log.warning("a call of %s failed: %s", self._job.job_id, failure)
            self._count(provider, failure.kind.value, started)
            await reach(Point.LIMITS_AFTER_FAILED_CALL)
            raise await self._failed(admitted, reservation, failure) from None
        except asyncio.CancelledError:
            self._count(provider, "interrupted", started)
            await self._cut(admitted, timeout, services.clock.now() - started)
            raise
        except Exception as error:
            self._count(provider, "interrupted", started)
            await self._noted(lambda: services.breakers.give_back(admitted))
            if isinstance(error, _NOT_SENT):
                await self._noted(lambda: settle(services, reservation, NO_COST))
            raise
        self._count(provider, "answered", started)
        await reach(Point.LIMITS_AFTER_CALL)
        await self._answered(admitted, reservation, answer, used)
        return answer

    async def _reserve(self, admitted: Admitted, estimate: Usage, *, metered: bool) -> Reservation:
        """Nothing is counted for a call that costs nothing. A refusal gives the leave to call back."""
        if estimate == NO_COST and not metered:
            return Reservation(amount=NO_COST)
        services = self._services
        try:
            return await reserve(services, self._job, self._policy, estimate)
        except AfterhookError:
            await self._noted(lambda: services.breakers.give_back(admitted))
            raise

    async def _answered(
        self, admitted: Admitted, reservation: Reservation, answer: T, used: Callable[[T], Usage] | None
    ) -> None:
        services = self._services

        async def pay() -> None:
            if used is not None:
                cost = used(answer)
                services.telemetry.observe("provider_tokens", cost.tokens, provider=admitted.provider)
                await settle(services, reservation, cost)

        await asyncio.gather(self._noted(lambda: services.breakers.succeeded(admitted)), self._noted(pay))

    async def _failed(self, admitted: Admitted, reservation: Reservation, failure: CallFailed) -> CallFailed:
        """The failure to raise. What was surely not executed cost nothing; the rest counts as spent."""
        services = self._services

        async def tell() -> MustWait | None:
            if failure.outage:
                return await services.breakers.failed(admitted, failure)
            await services.breakers.succeeded(admitted)
            return None

        async def refund() -> None:
            if failure.kind in EXECUTED_NOTHING:
                await settle(services, reservation, NO_COST)

        wait, _ = await asyncio.gather(self._noted(tell), self._noted(refund))
        return failure if wait is None else TriedInVain(failure, wait.until, services.clock.now())

    async def _cut(self, admitted: Admitted, timeout: timedelta, lasted: timedelta) -> None:
        """What a call tells of the provider that was cut after it had `lasted` so long.

        Where the attempt's time was up while the call took most of what there was for it, that is one more
        call without an answer: else a silent provider would cost each job all its attempts and never rest.
        """
        breakers, now = self._services.breakers, self._services.clock.now()
        most = min(timeout, self._policy.attempt_timeout) / 2
        if self._until is not None and now >= self._until - _CLOCKS_DIFFER and lasted >= most:
            silent = CallFailed(admitted.provider, FailureKind.UNCLEAR)
            await self._noted(lambda: breakers.failed(admitted, silent))
        else:
            await self._noted(lambda: breakers.give_back(admitted))

    async def _noted(self, step: Callable[[], Awaitable[T]]) -> T | None:
        """What `step` gives; None, and a count, if it cannot be done now."""
        try:
            async with asyncio.timeout(_AFTERWARDS_SECONDS):
                return await step()
        except Exception as error:  # noqa: BLE001  nothing may take the place of the call's own outcome
            log.warning("not written after a call: %s at %s", type(error).__name__, where_raised(error))
            self._services.telemetry.count("limits_not_written", task_type=self._job.task_type)
            return None

    def _count(self, provider: str, outcome: str, started: datetime) -> None:
        telemetry, seconds = self._services.telemetry, self._services.clock.now() - started
        telemetry.count("provider_calls", provider=provider, outcome=outcome)
        telemetry.observe("provider_call_seconds", seconds.total_seconds(), provider=provider)


async def _within(provider: str, call: Callable[[], Awaitable[T]], timeout: timedelta) -> T:
    """The answer of `call`; a call that outlives `timeout` is unclear."""
    limit = asyncio.timeout(timeout.total_seconds())
    try:
        async with limit:
            return await call()
    except TimeoutError:
        if not limit.expired():
            raise
        raise CallFailed(provider, FailureKind.UNCLEAR) from None
