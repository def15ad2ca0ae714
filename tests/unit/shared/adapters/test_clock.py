"""The real clock and real chance."""

from datetime import UTC, datetime, timedelta

from shared.adapters.clock import SystemClock, SystemRandomness


def test_now_is_aware_utc() -> None:
    now = SystemClock().now()
    assert now.utcoffset() == timedelta(0)
    assert abs(now - datetime.now(UTC)) < timedelta(seconds=5)


async def test_sleeping_returns() -> None:
    await SystemClock().sleep(0)


def test_chance_stays_in_its_range_and_tokens_are_unique_and_url_safe() -> None:
    randomness = SystemRandomness()
    assert all(0 <= randomness.fraction() < 1 for _ in range(1000))
    tokens = {randomness.token() for _ in range(1000)}
    assert len(tokens) == 1000
    assert all(len(token) >= 20 and token.replace("-", "").replace("_", "").isalnum() for token in tokens)
