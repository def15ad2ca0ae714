"""Timer triggers: one listener a function, never two runs of it at once.

Sources: https://learn.microsoft.com/azure/azure-functions/functions-bindings-timer and TimerListener.cs in
Azure/azure-webjobs-sdk-extensions: a run that was missed while the host was down happens at once and says
`past_due`; occurrences that pass during a long run are skipped. A failed run is repeated as `@app.retry`
says, before the next occurrence is looked for.
"""

import asyncio
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from azure.functions.meta import Datum

from devhost.functions.context import child_trace
from devhost.functions.convert import as_json
from devhost.functions.definitions import FunctionDefinition
from devhost.functions.errors import FunctionLoadError
from devhost.functions.invocation import Invoker
from devhost.functions.log import host_log
from devhost.functions.retry import FIRST_RUN, RetryState
from devhost.functions.schedule import is_monitored, parse_schedule
from devhost.functions.timer_state import ScheduleStatus, TimerState
from devhost.functions.worker.protocol import FunctionFailed

Now = Callable[[], datetime]
# Wake up now and then, so that a changed wall clock is noticed.
_LONGEST_SLEEP = timedelta(seconds=30)


def utc_now() -> datetime:
    return datetime.now(UTC)


class TimerListener:
    """Fires one timer function. Raises FunctionLoadError for a schedule that cannot be read."""

    def __init__(
        self,
        function: FunctionDefinition,
        invoker: Invoker,
        state: TimerState,
        now: Now = utc_now,
        random: Callable[[], float] = random.random,
    ) -> None:
        self._function = function
        self._invoker = invoker
        self._state = state
        self._now = now
        self._random = random
        try:
            self._schedule = parse_schedule(str(function.trigger["schedule"]))
        except ValueError as error:
            raise FunctionLoadError(function.name, str(error)) from None
        self._monitored = is_monitored(self._schedule, function.trigger.get("useMonitor"), now())
        self._run_on_startup = function.trigger.get("runOnStartup") is True
        self._loop: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    async def start(self) -> None:
        self._loop = asyncio.create_task(self._run(), name=f"timer:{self._function.name}")

    def stop(self) -> None:
        """Fire no more; a run that has begun goes on."""
        self._stopping.set()

    async def drain(self) -> None:
        """Wait until a run that has begun is over."""
        if self._loop is not None:
            await asyncio.wait({self._loop})

    async def close(self) -> None:
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.wait({self._loop})

    async def _run(self) -> None:
        status = self._state.load(self._function.name) if self._monitored else None
        # From the last update, not from the stored due time: the schedule may be another one now.
        past_due = status is not None and self._now() > self._schedule.next_after(status.last_updated)
        if status is None:
            status = self._record(None)
        if self._run_on_startup or past_due:
            status = await self._fire(status, past_due=past_due)
        while not self._stopping.is_set():
            if await self._sleep_until(self._schedule.next_after(self._now())):
                status = await self._fire(status, past_due=False)

    async def _sleep_until(self, due: datetime) -> bool:
        """True when `due` has come, False when the host is stopping."""
        while (left := due - self._now()) > timedelta(0):
            try:
                await asyncio.wait_for(self._stopping.wait(), min(left, _LONGEST_SLEEP).total_seconds())
            except TimeoutError:
                continue
            return False
        return not self._stopping.is_set()

    async def _fire(self, status: ScheduleStatus, *, past_due: bool) -> ScheduleStatus:
        started = self._now()
        info = {
            "Schedule": {"AdjustForDST": True},
            "ScheduleStatus": status.as_dict() if self._monitored else None,
            "IsPastDue": past_due,
        }
        retry = FIRST_RUN
        # A task of its own for each run: what one sets in its context is not there in the next.
        while failure := await asyncio.create_task(self._failure_of_run(as_json(info), retry)):
            again = await self._wait_to_retry(retry.count + 1, failure)
            if again is None:
                break
            retry = again
        return self._record(started)

    async def _failure_of_run(self, data: Datum, retry: RetryState) -> FunctionFailed | None:
        try:
            await self._invoker.invoke(self._function, data, child_trace(None), retry=retry)
        except FunctionFailed as failure:  # logged by the invoker; the schedule goes on
            return failure
        return None

    async def _wait_to_retry(self, number: int, failure: FunctionFailed) -> RetryState | None:
        """What the retry of this number knows, once its time has come; None when there is none."""
        policy = self._function.retry
        if policy is None:
            return None
        if not policy.allows(number):
            host_log.error("event=retries_exhausted function=%s retries=%d", self._function.name, number - 1)
            return None
        delay = policy.delay(number, self._random)
        host_log.warning(
            "event=retrying function=%s retry=%d in_s=%g", self._function.name, number, delay.total_seconds()
        )
        if not await self._sleep_until(self._now() + delay):
            return None
        return RetryState(number, policy.max_retry_count, failure.message, failure.stack_trace)

    def _record(self, last: datetime | None) -> ScheduleStatus:
        now = self._now()
        status = ScheduleStatus(last=last, next=self._schedule.next_after(now), last_updated=now)
        if self._monitored:
            try:
                self._state.save(self._function.name, status)
            except OSError as error:  # the schedule goes on; a restart may not notice a missed run
                host_log.error(
                    "event=timer_not_remembered function=%s error=%s", self._function.name, error.strerror
                )
        return status
