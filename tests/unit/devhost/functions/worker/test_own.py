"""The host's own worker, where it is not compared with the library in tests/host."""

import logging

import pytest

from devhost.functions.worker.own import thread_count


@pytest.mark.parametrize(("given", "count"), [("1", 1), (" 40 ", 40)])
def test_the_thread_count_is_what_was_set(given: str, count: int) -> None:
    assert thread_count({"PYTHON_THREADPOOL_THREAD_COUNT": given}) == count


def test_without_a_setting_python_decides_on_the_threads() -> None:
    assert thread_count({}) is None


@pytest.mark.parametrize("given", ["0", "-1", "many", ""])
def test_a_thread_count_that_is_none_is_ignored_and_logged(
    given: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert thread_count({"PYTHON_THREADPOOL_THREAD_COUNT": given}) is None
    assert "event=setting_ignored setting=PYTHON_THREADPOOL_THREAD_COUNT" in caplog.text
