"""Durations and time spans as people write them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.durations import format_duration, parse_duration, parse_time_span


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("90s", timedelta(seconds=90)),
        ("2m", timedelta(minutes=2)),
        ("1h30m", timedelta(hours=1, minutes=30)),
        ("24h", timedelta(days=1)),
        ("1d12h", timedelta(days=1, hours=12)),
        ("500ms", timedelta(milliseconds=500)),
        ("1m500ms", timedelta(minutes=1, milliseconds=500)),
        ("0s", timedelta()),
    ],
)
def test_a_duration_is_read(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize(
    "text", ["", "5", "s", "2 m", "2M", "-2m", "1.5h", "30m1h", "2m2m", "2min", "٢m", "2m\n", "9" * 30 + "s"]
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match='a duration such as "90s" or "2m"'):
        parse_duration(text)


@given(st.integers(0, 10**11))
def test_a_duration_survives_being_written_and_read(milliseconds: int) -> None:
    duration = timedelta(milliseconds=milliseconds)
    assert parse_duration(format_duration(duration)) == duration


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("00:30:00", timedelta(minutes=30)),
        ("1.02:03:04", timedelta(days=1, hours=2, minutes=3, seconds=4)),
        ("00:00:01.5000000", timedelta(seconds=1)),
        ("-00:00:00.0010000", None),
        ("-1", None),
    ],
)
def test_a_time_span_of_the_platform_is_read(text: str, span: timedelta | None) -> None:
    assert parse_time_span(text) == span


@pytest.mark.parametrize("text", ["", "30", "30m", "00:30", "0:1:2:3"])
def test_anything_else_is_no_time_span(text: str) -> None:
    with pytest.raises(ValueError, match="00:30:00"):
        parse_time_span(text)
