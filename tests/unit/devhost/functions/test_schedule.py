"""Schedules."""

from datetime import UTC, datetime, timedelta

import pytest

from devhost.functions.schedule import is_monitored, parse_schedule

NOW = datetime(2026, 1, 15, 10, 30, 20, tzinfo=UTC)


def test_a_timespan_is_a_constant_interval() -> None:
    assert parse_schedule("00:10:00").next_after(NOW) == NOW + timedelta(minutes=10)


@pytest.mark.parametrize("text", ["00:00:00", "-00:01:00", "1:2:3:4:5", "never"])
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"schedule|TimeSpan"):
        parse_schedule(text)


@pytest.mark.parametrize(
    ("text", "asked", "monitored"),
    [
        ("0 * * * * *", None, True),
        ("0 * * * * *", False, False),
        ("*/30 * * * * *", None, False),
        ("*/30 * * * * *", True, False),
        ("00:00:59", None, False),
        ("00:01:00", None, True),
    ],
)
def test_only_timers_that_recur_after_a_minute_or_more_are_monitored(
    text: str, asked: bool | None, monitored: bool
) -> None:
    assert is_monitored(parse_schedule(text), asked, NOW) is monitored
