"""When a host is started again."""

from devhost.functions.restarts import restart_delay


def test_one_death_is_answered_at_once_and_a_series_ever_later() -> None:
    assert [restart_delay(n) for n in range(9)] == [0, 0, 0.5, 1, 2, 5, 10, 10, 10]
