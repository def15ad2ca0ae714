"""The timer listener, under a clock of the test's own."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import azure.functions as func
import pytest

from devhost.functions.errors import FunctionLoadError
from devhost.functions.invocation import Invoker
from devhost.functions.timer_state import ScheduleStatus, TimerState
from devhost.functions.timers import TimerListener
from tests.support.own_worker import knowing

NOW = datetime(2026, 1, 15, 10, 30, 20, tzinfo=UTC)


class _Runs:
    """Notes each run's past-due flag."""

    def __init__(self) -> None:
        self.seen: list[bool] = []
        self.ran = asyncio.Event()

    def note(self, timer: func.TimerRequest) -> None:
        self.seen.append(timer.past_due)
        self.ran.set()


@asynccontextmanager
async def _listening(listener: TimerListener) -> AsyncIterator[None]:
    await listener.start()
    try:
        yield
    finally:
        listener.stop()
        await listener.close()


def _listener(runs: _Runs, folder: Path, now: Callable[[], datetime], **trigger: Any) -> TimerListener:
    async def call(timer: func.TimerRequest) -> None:
        runs.note(timer)

    binding = {"type": "timerTrigger", "name": "timer", "schedule": "0 0 * * * *"} | trigger
    worker, function = knowing(call, binding, name="tick", converter="timerTrigger")
    return TimerListener(function, Invoker(None, worker), TimerState(folder), now)


async def test_a_missed_hour_runs_at_once_and_is_past_due(tmp_path: Path) -> None:
    missed = NOW - timedelta(hours=1)
    TimerState(tmp_path).save("tick", ScheduleStatus(missed, missed, missed))
    runs = _Runs()
    async with _listening(_listener(runs, tmp_path, lambda: NOW)):
        await asyncio.wait_for(runs.ran.wait(), 60)
    assert runs.seen == [True]


async def test_a_changed_schedule_is_judged_by_the_new_one(tmp_path: Path) -> None:
    updated = NOW - timedelta(minutes=10)
    stale = ScheduleStatus(None, NOW - timedelta(minutes=5), updated)
    TimerState(tmp_path).save("tick", stale)
    runs = _Runs()
    async with _listening(_listener(runs, tmp_path, lambda: NOW)):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(runs.ran.wait(), 0.2)
    assert runs.seen == []
    assert TimerState(tmp_path).load("tick") == stale


async def test_a_run_that_cannot_be_remembered_is_logged_and_the_schedule_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    no_folder = tmp_path / "file"
    no_folder.touch()
    runs = _Runs()
    listener = _listener(runs, no_folder, lambda: NOW, runOnStartup=True)
    async with _listening(listener):
        await asyncio.wait_for(runs.ran.wait(), 60)
        while caplog.text.count("event=timer_not_remembered function=tick") < 2:  # noqa: ASYNC110  no event
            await asyncio.sleep(0.01)
        with pytest.raises(TimeoutError):  # it waits for the next hour instead of having died
            await asyncio.wait_for(listener.drain(), 0.2)


async def test_after_a_run_the_next_hour_is_remembered(tmp_path: Path) -> None:
    runs = _Runs()
    listener = _listener(runs, tmp_path, lambda: NOW, runOnStartup=True)
    async with _listening(listener):
        await asyncio.wait_for(runs.ran.wait(), 60)
        listener.stop()
        await listener.drain()
    assert runs.seen == [False]
    hour = datetime(2026, 1, 15, 11, tzinfo=UTC)
    assert TimerState(tmp_path).load("tick") == ScheduleStatus(last=NOW, next=hour, last_updated=NOW)


async def test_a_timer_fires_when_its_time_has_come(tmp_path: Path) -> None:
    moments = iter([NOW + timedelta(hours=n) for n in range(1000)])
    runs = _Runs()
    async with _listening(_listener(runs, tmp_path, lambda: next(moments))):
        await asyncio.wait_for(runs.ran.wait(), 60)
    assert runs.seen[0] is False


async def test_a_schedule_that_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(FunctionLoadError, match="cannot load the tick function: schedule"):
        _listener(_Runs(), tmp_path, lambda: NOW, schedule="nonsense")
