"""The SDK's own queue tests pass on the local broker, save those that test something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.broker.sdk_suite.suite import UnavailableError, counts, fetch, run

pytestmark = [pytest.mark.broker, pytest.mark.oracle, pytest.mark.slow, pytest.mark.timeout(1800)]

NOT_APPLICABLE = {
    "amqp_over_websocket": "the broker has no web sockets",
    "operation_negative": "its stand-in for a method lacks a keyword that this SDK passes: it fails anywhere",
}
ALONE = "many_msgs"
"""It holds 300 locks with six threads, which takes a machine that does nothing else."""

FEWEST = 130


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return fetch(tmp_path_factory.mktemp("sdk"))
    except UnavailableError as error:
        pytest.skip(str(error))


def test_the_sdks_own_queue_tests_pass(suite: Path) -> None:
    left_out = " or ".join([*NOT_APPLICABLE, ALONE])
    results = run(suite, only=f"not ({left_out})")
    assert {result.name: result.message for result in results if result.outcome == "failed"} == {}
    assert counts(results)["passed"] >= FEWEST


def test_the_sdks_own_test_of_three_hundred_locks_passes(suite: Path) -> None:
    results = run(suite, only=ALONE, at_once=1)
    assert [(result.outcome, result.message) for result in results] == [("passed", "")]
