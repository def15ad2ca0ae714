"""The delays between attempts."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.retry import LONGEST_DELAY, Backoff, BackoffCurve, BackoffList, RetryPolicy, delay_before

SECOND = timedelta(seconds=1)
CURVE = BackoffCurve(base=5 * SECOND, factor=2, cap=timedelta(minutes=5))
LIST = BackoffList((30 * SECOND, timedelta(minutes=2), timedelta(minutes=10)))
DELAYS = st.timedeltas(timedelta(milliseconds=1), timedelta(days=7))
BACKOFFS: st.SearchStrategy[Backoff] = st.builds(
    BackoffList, st.lists(DELAYS, min_size=1, max_size=6).map(tuple)
) | st.builds(BackoffCurve, base=DELAYS, factor=st.floats(1, 10), cap=DELAYS)


def policy(backoff: Backoff, jitter: float = 0.0) -> RetryPolicy:
    return RetryPolicy(attempts=5, deadline=timedelta(days=1), backoff=backoff, jitter=jitter)


def test_a_curve_doubles_up_to_its_cap() -> None:
    seconds = [delay_before(policy(CURVE), attempt, 0.0).total_seconds() for attempt in range(1, 9)]
    assert seconds == [10, 20, 40, 80, 160, 300, 300, 300]


def test_a_list_is_followed_and_its_last_entry_repeats() -> None:
    seconds = [delay_before(policy(LIST), attempt, 0.0).total_seconds() for attempt in range(1, 6)]
    assert seconds == [30, 120, 600, 600, 600]


def test_jitter_adds_its_share_at_most() -> None:
    assert delay_before(policy(CURVE, 0.2), 1, 0.0) == 10 * SECOND
    assert delay_before(policy(CURVE, 0.2), 1, 0.5) == 11 * SECOND


def test_retry_after_is_waited_for_and_jittered_beyond() -> None:
    assert delay_before(policy(CURVE), 1, 0.0, 90 * SECOND) == 90 * SECOND
    assert delay_before(policy(CURVE, 0.5), 1, 0.5, 40 * SECOND) == 50 * SECOND
    assert delay_before(policy(CURVE), 3, 0.0, 2 * SECOND) == 40 * SECOND


@pytest.mark.parametrize("attempt", [0, -1])
def test_there_is_no_delay_before_the_first_run(attempt: int) -> None:
    with pytest.raises(ValueError, match="attempt 1"):
        delay_before(policy(LIST), attempt, 0.0)


@given(
    backoff=BACKOFFS,
    attempt=st.integers(1, 10**6),
    jitter=st.floats(0, 1),
    fraction=st.floats(0, 1, exclude_max=True),
    retry_after=st.none() | st.timedeltas(timedelta(), timedelta.max),
)
def test_a_delay_is_never_below_backoff_or_retry_after_nor_above_the_jitter(
    backoff: Backoff, attempt: int, jitter: float, fraction: float, retry_after: timedelta | None
) -> None:
    least = min(max(backoff.delay(attempt), retry_after or timedelta()), LONGEST_DELAY)
    delay = delay_before(policy(backoff, jitter), attempt, fraction, retry_after)
    assert least <= delay <= least + least * jitter + timedelta(microseconds=1)


@given(base=DELAYS, factor=st.floats(1, 10), cap=DELAYS, attempt=st.integers(1, 5000))
def test_a_curve_never_falls_and_never_passes_its_cap(
    base: timedelta, factor: float, cap: timedelta, attempt: int
) -> None:
    curve = BackoffCurve(base=base, factor=factor, cap=cap)
    assert curve.delay(attempt) <= curve.delay(attempt + 1) <= cap
