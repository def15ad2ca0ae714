"""Timer triggers: one listener a function, never two runs of it at once.

Sources: https://learn.microsoft.com/azure/azure-functions/functions-bindings-timer and TimerListener.cs in
Azure/azure-webjobs-sdk-extensions: a run that was missed while the host was down happens at once and says
`past_due`; occurrences that pass during a long run are skipped.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from devhost.functions.context import child_trace
from devhost.functions.convert import as_json
from devhost.functions.definitions import FunctionDefinition
from devhost.functions.errors import FunctionLoadError
from devhost.functions.invocation import Invoker
from devhost.functions.log import host_log
from devhost.functions.schedule import is_monitored, parse_schedule
from devhost.functions.timer_state import ScheduleStatus, TimerState

Now = Callable[[], datetime]
# Wake up now and then, so that a changed wall clock is noticed.
_LONGEST_SLEEP = timedelta(seconds=30)


def utc_now() -> datetime:
    return datetime.now(UTC)


class TimerListener:
    """Fires one timer function. Raises FunctionLoadError for a schedule that cannot be read."""

    def __init__(
        self, function: FunctionDefinition, invoker: Invoker, state: TimerState, now: Now = utc_now
    ) -> None:
        self._function = function
        self._invoker = invoker
        self._state = state
        self._now = now
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
        try:
            await self._invoker.invoke(self._function, as_json(info), child_trace(None))
        except Exception:  # noqa: BLE001 - a failed run is logged by the invoker; the schedule goes on
            host_log.debug("event=timer_failed function=%s", self._function.name)
        return self._record(started)

    def _record(self, last: datetime | None) -> ScheduleStatus:
        now = self._now()
        status = ScheduleStatus(last=last, next=self._schedule.next_after(now), last_updated=now)
        if self._monitored:
            self._state.save(self._function.name, status)
        return status
