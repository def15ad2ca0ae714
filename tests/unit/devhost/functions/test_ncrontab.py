"""NCRONTAB: next occurrences, and what is refused."""

from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from devhost.functions.ncrontab import Ncrontab

START = datetime(2026, 1, 15, 10, 30, 20, tzinfo=UTC)  # a Thursday


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("* * * * * *", "2026-01-15 10:30:21"),
        ("0 */5 * * * *", "2026-01-15 10:35:00"),
        ("0 5/20 * * * *", "2026-01-15 10:45:00"),
        ("*/15 * * * * *", "2026-01-15 10:30:30"),
        ("0 0 * * * *", "2026-01-15 11:00:00"),
        ("0 0 9-17/4 * * *", "2026-01-15 13:00:00"),
        ("0 30 9 * * 1-5", "2026-01-16 09:30:00"),
        ("0 30 9 * * MON", "2026-01-19 09:30:00"),
        ("0 30 9 * Jan Mon", "2026-01-19 09:30:00"),
        ("0 30 9 * January Monday", "2026-01-19 09:30:00"),
        ("0 0 0 * febr TUES-thurs", "2026-02-03 00:00:00"),
        ("0\t0  12 * * *", "2026-01-15 12:00:00"),
        ("0 0 0 * * 0", "2026-01-18 00:00:00"),
        ("0 0 0 1,15 * *", "2026-02-01 00:00:00"),
        ("0 0 0 31 * *", "2026-01-31 00:00:00"),
        ("0 0 0 29 2 *", "2028-02-29 00:00:00"),
        ("0 0 0 29 2 Mon", "2044-02-29 00:00:00"),
        ("0 0 0 13 * 5", "2026-02-13 00:00:00"),
        ("30 10 * * *", "2026-01-16 10:30:00"),
        ("59 59 23 31 12 *", "2026-12-31 23:59:59"),
    ],
)
def test_the_next_occurrence(expression: str, expected: str) -> None:
    assert Ncrontab(expression).next_after(START) == datetime.fromisoformat(f"{expected}+00:00")


def test_a_moment_that_fits_is_not_its_own_next_occurrence() -> None:
    moment = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
    assert Ncrontab("0 30 10 * * *").next_after(moment) == moment + timedelta(days=1)


def test_a_fraction_of_a_second_before_counts_as_before() -> None:
    moment = datetime(2026, 1, 15, 10, 29, 59, 999_999, tzinfo=UTC)
    assert Ncrontab("0 30 10 * * *").next_after(moment) == datetime(2026, 1, 15, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("", "has 0 fields"),
        ("* * * *", "has 4 fields"),
        ("* * * * * * *", "has 7 fields"),
        ("60 * * * * *", "'60' does not fit the second field (0 to 59)"),
        ("* * 24 * * *", "hour field"),
        ("* * * 0 * *", "day field"),
        ("* * * * 13 *", "month field"),
        ("* * * * * 7", "day-of-week field"),
        ("* */0 * * * *", "minute field"),
        ("* 5-1 * * * *", "minute field"),
        ("* 1- * * * *", "minute field"),
        ("* , * * * *", "minute field"),
        ("* -1 * * * *", "minute field"),
        ("* ² * * * *", "minute field"),
        ("* * * * Foo *", "month field"),
        ("* * * * Janitor *", "month field"),
        ("* * * * J *", "month field"),
        ("* * * * * Mondays", "day-of-week field"),
        ("* * * * * Fri-Mon", "day-of-week field"),
        ("* * * L * *", "day field"),
        ("* * * 15W * *", "day field"),
        ("* * * * * 5#2", "day-of-week field"),
        ("@daily", "has 1 fields"),
        ("* * * ? * *", "day field"),
        ("0 0 0 30 2 *", "never comes"),
        ("0 0 0 31 4,6 *", "never comes"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(expression: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=r"^schedule ") as caught:
        Ncrontab(expression)
    assert sentence in str(caught.value)


def _field(low: int, high: int) -> st.SearchStrategy[tuple[str, frozenset[int]]]:
    """A field's text and the values it stands for, computed another way."""
    number = st.integers(low, high)
    everything = st.just(("*", frozenset(range(low, high + 1))))
    single = number.map(lambda n: (str(n), frozenset([n])))
    span = st.tuples(number, number).map(lambda p: (min(p), max(p)))
    ranges = span.map(lambda p: (f"{p[0]}-{p[1]}", frozenset(range(p[0], p[1] + 1))))
    steps = st.integers(1, 20).map(
        lambda s: (f"*/{s}", frozenset(n for n in range(low, high + 1) if (n - low) % s == 0))
    )
    item = st.one_of(everything, single, ranges, steps)
    return st.lists(item, min_size=1, max_size=3).map(
        lambda items: (",".join(i[0] for i in items), frozenset().union(*(i[1] for i in items)))
    )


@given(
    fields=st.tuples(_field(0, 59), _field(0, 59), _field(0, 23), _field(0, 6)),
    moment=st.datetimes(datetime(2000, 1, 1), datetime(2099, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_the_next_occurrence_fits_and_nothing_between_does(
    fields: tuple[tuple[str, frozenset[int]], ...], moment: datetime
) -> None:
    (seconds, minutes, hours, weekdays) = fields
    found = Ncrontab(f"{seconds[0]} {minutes[0]} {hours[0]} * * {weekdays[0]}").next_after(moment)
    assert found > moment
    assert _fits(found, fields)
    # Between them: no whole day fits, and on the days at the ends no earlier time of day.
    day = moment.date() + timedelta(days=1)
    while day < found.date():
        assert (day.weekday() + 1) % 7 not in weekdays[1]
        day += timedelta(days=1)
    step = found - timedelta(seconds=1)
    for _ in range(3700):
        if step <= moment:
            break
        assert not _fits(step, fields)
        step -= timedelta(seconds=1)


@given(
    days=_field(1, 31),
    months=_field(1, 12),
    weekdays=_field(0, 6),
    moment=st.datetimes(datetime(2000, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_the_next_day_is_the_first_that_fits_day_and_month_and_weekday(
    days: tuple[str, frozenset[int]],
    months: tuple[str, frozenset[int]],
    weekdays: tuple[str, frozenset[int]],
    moment: datetime,
) -> None:
    assume(min(days[1]) <= 28)  # a day that is in every month comes within the years looked through
    found = Ncrontab(f"0 0 0 {days[0]} {months[0]} {weekdays[0]}").next_after(moment)
    day = moment.date() + timedelta(days=1)
    while not (day.day in days[1] and day.month in months[1] and (day.weekday() + 1) % 7 in weekdays[1]):
        day += timedelta(days=1)
    assert (found.date(), found.time()) == (day, time(0))


def _fits(moment: datetime, fields: tuple[tuple[str, frozenset[int]], ...]) -> bool:
    seconds, minutes, hours, weekdays = (values for _, values in fields)
    return (
        moment.second in seconds
        and moment.minute in minutes
        and moment.hour in hours
        and (moment.weekday() + 1) % 7 in weekdays
    )
