"""Retry policies: how often and after how long."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devhost.functions.retry import FOR_EVER, RetryPolicy

MINUTE = timedelta(minutes=1)


def test_a_fixed_delay_is_the_same_each_time() -> None:
    policy = RetryPolicy(3, MINUTE, MINUTE)
    assert [policy.delay(n, lambda: 0.9) for n in (1, 2, 3)] == [MINUTE] * 3


def test_an_exponential_delay_doubles_up_to_the_maximum() -> None:
    policy = RetryPolicy(9, timedelta(seconds=2), timedelta(seconds=20))
    assert [policy.delay(n, lambda: 0.5).total_seconds() for n in (1, 2, 3, 4, 5)] == [4, 6, 10, 18, 20]


@pytest.mark.parametrize(("limit", "allowed"), [(0, 0), (2, 2), (FOR_EVER, 5)])
def test_there_are_as_many_retries_as_allowed(limit: int, allowed: int) -> None:
    policy = RetryPolicy(limit, MINUTE, MINUTE)
    assert sum(policy.allows(n) for n in range(1, 6)) == allowed


@given(
    retry=st.integers(1, 10**6), random=st.floats(0, 1), low=st.integers(0, 10**6), more=st.integers(0, 10**6)
)
def test_a_delay_stays_between_the_minimum_and_the_maximum(
    retry: int, random: float, low: int, more: int
) -> None:
    policy = RetryPolicy(1, timedelta(seconds=low), timedelta(seconds=low + more))
    assert policy.minimum <= policy.delay(retry, lambda: random) <= policy.maximum
