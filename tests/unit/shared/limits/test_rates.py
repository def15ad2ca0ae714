"""Starts in a minute, and turns to look."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from shared.limits.rates import Meter, lined_up, metered
from tests.support.fakes.time import START

SECOND = timedelta(seconds=1)


def starts(times: list[float], per_minute: int) -> list[float]:
    """When those who ask at `times` may start, in seconds."""
    meter, found = Meter(), []
    for at in times:
        meter = metered(meter, START + at * SECOND, per_minute)
        found.append((meter.next_start - START) / SECOND)
    return found


def test_after_a_quiet_minute_a_minutes_number_starts_at_once_and_then_one_an_interval() -> None:
    assert starts([0, 0, 0, 0, 0, 0], 4) == [0, 0, 0, 0, 15, 30]


def test_the_bucket_fills_again_with_time() -> None:
    assert starts([0, 0, 0, 0, 30, 30, 30], 4) == [0, 0, 0, 0, 30, 30, 45]
    assert starts([0, 0, 200, 200, 200], 2) == [0, 0, 200, 200, 230]


@given(
    asked=st.lists(st.floats(0, 300, allow_nan=False), min_size=1, max_size=60).map(sorted),
    per_minute=st.integers(1, 20),
)
def test_in_any_time_no_more_start_than_the_bucket_holds_and_what_flows_in(
    asked: list[float], per_minute: int
) -> None:
    found = starts(asked, per_minute)
    assert all(start >= at - 1e-6 for start, at in zip(found, asked, strict=True))
    assert found == sorted(found)
    for first in range(len(found)):
        for last in range(first, len(found)):
            most = per_minute + (found[last] - found[first]) * per_minute / 60
            assert last - first + 1 <= most + 1e-3


def test_those_who_line_up_look_one_after_the_other() -> None:
    one = lined_up(Meter(), START, 2 * SECOND)
    two = lined_up(one, START, 2 * SECOND)
    later = lined_up(two, START + 60 * SECOND, SECOND)
    assert [meter.next_start - START for meter in (one, two, later)] == [2 * SECOND, 4 * SECOND, 61 * SECOND]
