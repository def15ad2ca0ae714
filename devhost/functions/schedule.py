"""A timer's schedule: an NCRONTAB expression, or a TimeSpan for a constant interval. Times are UTC."""

from datetime import datetime, timedelta
from typing import Protocol

from devhost.functions.ncrontab import Ncrontab
from devhost.functions.timespan import parse_timespan

_MONITOR_FROM = timedelta(minutes=1)


class Schedule(Protocol):
    """When a timer fires."""

    def next_after(self, moment: datetime) -> datetime: ...


class ConstantSchedule:
    """Every `interval`, counted from the moment asked about."""

    def __init__(self, interval: timedelta) -> None:
        self._interval = interval

    def next_after(self, moment: datetime) -> datetime:
        return moment + self._interval


def parse_schedule(text: str) -> Schedule:
    """Read a schedule. Raises ValueError with what is wrong."""
    if ":" not in text:
        return Ncrontab(text)
    interval = parse_timespan(text)
    if interval <= timedelta(0):
        raise ValueError(f"schedule {text!r}: the interval must be positive")
    return ConstantSchedule(interval)


def is_monitored(schedule: Schedule, use_monitor: bool | None, now: datetime) -> bool:
    """Whether missed runs are noticed: as asked, but never for a timer that recurs within a minute.

    Source: https://learn.microsoft.com/azure/azure-functions/functions-bindings-timer (`useMonitor`).
    """
    first = schedule.next_after(now)
    return use_monitor is not False and schedule.next_after(first) - first >= _MONITOR_FROM
