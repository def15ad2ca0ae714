"""TimeSpan texts."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devhost.functions.timespan import parse_timespan


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("00:05:00", timedelta(minutes=5)),
        ("01:02", timedelta(hours=1, minutes=2)),
        ("1.02:03:04", timedelta(days=1, hours=2, minutes=3, seconds=4)),
        ("1:02:03:04", timedelta(days=1, hours=2, minutes=3, seconds=4)),
        ("00:00:01.5", timedelta(seconds=1.5)),
        ("-00:00:00.0010000", timedelta(milliseconds=-1)),
        ("6", timedelta(days=6)),
    ],
)
def test_a_timespan_is_read(text: str, expected: timedelta) -> None:
    assert parse_timespan(text) == expected


@pytest.mark.parametrize(
    "text", ["", "soon", "24:00:00", "00:60:00", "00:00:60", "1:2:3:4:5", "-", "1.", "00:00:"]
)
def test_what_is_no_timespan_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no TimeSpan"):
        parse_timespan(text)


@given(st.integers(0, 10_000), st.integers(0, 86_399))
def test_every_span_comes_back(days: int, seconds: int) -> None:
    span = timedelta(days=days, seconds=seconds)
    clock = str(timedelta(seconds=seconds)).rjust(8, "0")
    assert parse_timespan(f"{days}.{clock}") == span
