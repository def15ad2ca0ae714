"""What `@app.retry` may say."""

from datetime import timedelta
from typing import Any

import pytest

from devhost.functions.errors import FunctionLoadError
from devhost.functions.retry import RetryPolicy
from devhost.functions.worker.retry_settings import retry_policy_of

SECOND = timedelta(seconds=1)


def _settings(strategy: str = "fixed_delay", count: object = "3", **more: Any) -> dict[str, Any]:
    return {"strategy": strategy, "max_retry_count": count, **more}


def test_without_a_decorator_there_is_no_policy() -> None:
    assert retry_policy_of("fn", None) is None
    assert retry_policy_of("fn", {}) is None


def test_both_strategies_are_read() -> None:
    fixed = _settings(delay_interval="00:00:05")
    assert retry_policy_of("fn", fixed) == RetryPolicy(3, 5 * SECOND, 5 * SECOND)
    growing = _settings("exponential_backoff", "-1", minimum_interval="00:00:01", maximum_interval="01:00:00")
    assert retry_policy_of("fn", growing) == RetryPolicy(-1, SECOND, 3600 * SECOND)


def test_a_back_off_has_default_limits() -> None:
    assert retry_policy_of("fn", _settings("exponential_backoff")) == RetryPolicy(
        3, timedelta(0), (2**31 - 1) * SECOND
    )


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (_settings(), "delay_interval: expected HH:MM:SS, found None"),
        (_settings(delay_interval="5"), "delay_interval: expected HH:MM:SS, found '5'"),
        (_settings(delay_interval="25:00:00"), "expected HH:MM:SS"),
        (_settings(count="many", delay_interval="00:00:05"), "max_retry_count: expected a whole number"),
        (_settings(count="-2", delay_interval="00:00:05"), "max_retry_count"),
        (_settings(count=None, delay_interval="00:00:05"), "max_retry_count"),
        (_settings("sometimes"), "fixed_delay or exponential_backoff, not 'sometimes'"),
        (
            _settings("exponential_backoff", minimum_interval="00:01:00", maximum_interval="00:00:01"),
            "minimum_interval is longer",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(FunctionLoadError) as caught:
        retry_policy_of("fn", settings)
    assert "cannot load the fn function: retry: " in str(caught.value)
    assert sentence in str(caught.value)
