"""What `@app.retry` may say."""

from datetime import timedelta
from typing import Any

import pytest

from devhost.functions.retry import RetryPolicy
from devhost.functions.worker.retry_settings import retry_policy_of

SECOND = timedelta(seconds=1)


def _settings(strategy: str = "fixed_delay", count: object = "3", **more: Any) -> dict[str, Any]:
    return {"strategy": strategy, "max_retry_count": count, **more}


def test_without_a_decorator_there_is_no_policy() -> None:
    assert retry_policy_of(None) is None
    assert retry_policy_of({}) is None


def test_both_strategies_are_read() -> None:
    fixed = _settings(delay_interval="00:00:05")
    assert retry_policy_of(fixed) == RetryPolicy(3, 5 * SECOND, 5 * SECOND)
    growing = _settings("exponential_backoff", "-1", minimum_interval="00:00:01", maximum_interval="01:00:00")
    assert retry_policy_of(growing) == RetryPolicy(-1, SECOND, 3600 * SECOND)


def test_a_back_off_has_default_limits() -> None:
    assert retry_policy_of(_settings("exponential_backoff")) == RetryPolicy(
        3, timedelta(0), (2**31 - 1) * SECOND
    )


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        (_settings(), TypeError, "must be str, not <class 'NoneType'>"),
        (_settings(delay_interval="5"), ValueError, "time data '5' does not match format"),
        (_settings(delay_interval="25:00:00"), ValueError, "does not match format"),
        (_settings(count="many", delay_interval="00:00:05"), ValueError, "invalid literal for int"),
        (_settings(count=None, delay_interval="00:00:05"), TypeError, "int\\(\\) argument must be"),
        (_settings("sometimes"), ValueError, 'unknown enum label "sometimes"'),
    ],
)
def test_what_cannot_be_read_is_refused_as_the_worker_does(
    settings: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        retry_policy_of(settings)
