"""NCRONTAB schedules: `{second} {minute} {hour} {day} {month} {day-of-week}`; with five, no second.

Unlike Unix cron, a day must fit both the day and the day-of-week field. Weekdays go from 0 (Sunday) to 6.
Sources: https://learn.microsoft.com/azure/azure-functions/functions-bindings-timer#ncrontab-expressions and
https://github.com/atifaziz/NCrontab
"""

import calendar
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

_MONTHS = tuple(name.lower() for name in calendar.month_name[1:])
_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_SHORTEST_NAME = 3
# Leap-day schedules meet their day of the week again within 40 years, even across 2100.
_HORIZON_YEARS = 41


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    low: int
    high: int
    names: Sequence[str] = ()

    def parse(self, text: str) -> tuple[int, ...]:
        """The sorted values a field's text stands for. Raises ValueError naming the field."""
        values: set[int] = set()
        for item in text.split(","):
            values.update(self._item(item))
        return tuple(sorted(values))

    def _item(self, item: str) -> Iterable[int]:
        span, slash, step_text = item.partition("/")
        step = self._number(step_text, item) if slash else 1
        if step < 1:
            raise self._wrong(item)
        if span == "*":
            return range(self.low, self.high + 1, step)
        first_text, dash, last_text = span.partition("-")
        first = self._value(first_text, item)
        last = self._value(last_text, item) if dash else (self.high if slash else first)
        if first > last:
            raise self._wrong(item)
        return range(first, last + 1, step)

    def _value(self, text: str, item: str) -> int:
        if self.names and len(text) >= _SHORTEST_NAME:
            for index, name in enumerate(self.names):
                if name.startswith(text.lower()):
                    return index + self.low
        value = self._number(text, item)
        if not self.low <= value <= self.high:
            raise self._wrong(item)
        return value

    def _number(self, text: str, item: str) -> int:
        if not (text.isascii() and text.isdigit()):
            raise self._wrong(item)
        return int(text)

    def _wrong(self, item: str) -> ValueError:
        return ValueError(f"{item!r} does not fit the {self.name} field ({self.low} to {self.high})")


_FIELDS = (
    _Field("second", 0, 59),
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day-of-week", 0, 6, _DAYS),
)


class Ncrontab:
    """A parsed schedule. Raises ValueError for one that cannot be read or never comes."""

    def __init__(self, expression: str) -> None:
        texts = expression.split()
        if len(texts) == 5:
            texts = ["0", *texts]
        if len(texts) != len(_FIELDS):
            raise ValueError(
                f"schedule {expression!r} has {len(texts)} fields; NCRONTAB has 6 (or 5, without seconds)"
            )
        try:
            parsed = [field.parse(text) for field, text in zip(_FIELDS, texts, strict=True)]
        except ValueError as error:
            raise ValueError(f"schedule {expression!r}: {error}") from None
        self._seconds, self._minutes, self._hours, self._days, self._months, self._weekdays = parsed
        if min(self._days) > max(calendar.monthrange(2024, month)[1] for month in self._months):
            raise ValueError(f"schedule {expression!r} never comes: no such day in these months")

    def next_after(self, moment: datetime) -> datetime:
        """The first occurrence later than `moment`, in the same time zone."""
        start = moment.replace(microsecond=0) + timedelta(seconds=1)
        if self._fits(start.date()):
            found = self._time_from(start.time())
            if found is not None:
                return datetime.combine(start.date(), found, moment.tzinfo)
        day = self._day_after(start.date())
        first = time(self._hours[0], self._minutes[0], self._seconds[0])
        return datetime.combine(day, first, moment.tzinfo)

    def _fits(self, day: date) -> bool:
        return (
            day.month in self._months and day.day in self._days and (day.weekday() + 1) % 7 in self._weekdays
        )

    def _day_after(self, day: date) -> date:
        year, month = day.year, day.month
        while year <= day.year + _HORIZON_YEARS:
            if month in self._months:
                last = calendar.monthrange(year, month)[1]
                for number in self._days:
                    if (
                        number <= last
                        and (candidate := date(year, month, number)) > day
                        and self._fits(candidate)
                    ):
                        return candidate
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        raise ValueError("the schedule does not come within 41 years")

    def _time_from(self, start: time) -> time | None:
        """The first time of day at or after `start`; None when the day has none left."""
        for hour in self._hours[bisect_left(self._hours, start.hour) :]:
            if hour > start.hour:
                return time(hour, self._minutes[0], self._seconds[0])
            for minute in self._minutes[bisect_left(self._minutes, start.minute) :]:
                if minute > start.minute:
                    return time(hour, minute, self._seconds[0])
                at = bisect_left(self._seconds, start.second)
                if at < len(self._seconds):
                    return time(hour, minute, self._seconds[at])
        return None
