"""When a host is started again, and where."""

import pytest

from devhost.functions.restarts import port_to_keep, restart_delay


def test_one_death_is_answered_at_once_and_a_series_ever_later() -> None:
    assert [restart_delay(n) for n in range(9)] == [0, 0, 0.5, 1, 2, 5, 10, 10, 10]


@pytest.mark.parametrize("arguments", [[], ["--port", "0"], ["--app", ".", "--port=0"]])
def test_without_a_port_it_keeps_one_that_no_client_is_given(arguments: list[str]) -> None:
    name, port = port_to_keep(arguments)
    assert name == "--port"
    assert int(port) < 32_768


@pytest.mark.parametrize("arguments", [["--port", "7071"], ["--port=7071", "--app", "."], ["--port"]])
def test_a_port_that_was_asked_for_is_left_as_it_is(arguments: list[str]) -> None:
    assert port_to_keep(arguments) == []
