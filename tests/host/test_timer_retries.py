"""`@app.retry` on timer functions, and on those for which the platform ignores it."""

import re
from pathlib import Path

import pytest

from tests.host.harness import HostProcess, start_fails, write_app

pytestmark = pytest.mark.host


def _failing(retry: str, schedule: str = "0 0 0 1 1 *", fails: str = "True") -> str:
    return f"""
import json, sys
@app.timer_trigger(arg_name="timer", schedule="{schedule}", run_on_startup=True)
@app.retry({retry})
async def tick(timer: func.TimerRequest, context: func.Context) -> None:
    retry = context.retry_context
    sys.stderr.write(f"tick {{json.dumps([retry.retry_count, retry.max_retry_count])}}\\n")
    if {fails}:
        raise ValueError("planned")
"""


def test_a_failed_run_is_repeated_as_often_as_the_policy_says_and_then_given_up(tmp_path: Path) -> None:
    source = _failing('strategy="fixed_delay", max_retry_count="2", delay_interval="00:00:00"')
    with HostProcess(write_app(tmp_path, source)) as host:
        log = host.wait_for_log("event=retries_exhausted function=tick retries=2")
        assert re.findall(r"tick (\[.*\])", log) == ["[0, 0]", "[1, 2]", "[2, 2]"]
        assert len(set(re.findall(r"event=failed function=tick invocation=(\S+)", log))) == 3


def test_a_run_that_succeeds_is_not_repeated(tmp_path: Path) -> None:
    source = _failing(
        'strategy="exponential_backoff", max_retry_count="-1", minimum_interval="00:00:00", '
        'maximum_interval="00:00:01"',
        fails="retry.retry_count < 3",
    )
    with HostProcess(write_app(tmp_path, source)) as host:
        host.wait_for_log("event=executed function=tick")
        assert host.terminate() == 0
        assert re.findall(r"tick (\[.*\])", host.log()) == ["[0, 0]", "[1, -1]", "[2, -1]", "[3, -1]"]


def test_a_stopping_host_waits_for_no_retry(tmp_path: Path) -> None:
    source = _failing('strategy="fixed_delay", max_retry_count="2", delay_interval="01:00:00"')
    with HostProcess(write_app(tmp_path, source)) as host:
        host.wait_for_log("event=retrying function=tick retry=1 in_s=3600")
        assert host.terminate() == 0
        assert host.log().count("tick [") == 1


def test_a_policy_on_another_trigger_is_ignored_with_a_warning(tmp_path: Path) -> None:
    source = """
@app.route(route="boom")
@app.retry(strategy="fixed_delay", max_retry_count="3", delay_interval="00:00:00")
def boom(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
    raise ValueError("planned")
"""
    with HostProcess(write_app(tmp_path, source)) as host:
        assert host.request("GET", "/api/boom").status == 500
        assert host.terminate() == 0
        assert "event=retry_policy_ignored function=boom trigger=httpTrigger" in host.log()
        assert host.log().count("event=failed") == 1


@pytest.mark.parametrize(
    ("retry", "sentence"),
    [
        ('strategy="fixed_delay", max_retry_count="2"', "TypeError: strptime() argument 0 must be str"),
        (
            'strategy="exponential_backoff", max_retry_count="-2"',
            "cannot load the tick function: retry: max_retry_count: -2 is no count",
        ),
        (
            (
                'strategy="exponential_backoff", max_retry_count="2", minimum_interval="00:01:00", '
                'maximum_interval="00:00:01"'
            ),
            "cannot load the tick function: retry: minimum_interval is longer than maximum_interval",
        ),
    ],
)
def test_a_policy_that_cannot_be_followed_does_not_start(tmp_path: Path, retry: str, sentence: str) -> None:
    assert sentence in start_fails(write_app(tmp_path, _failing(retry)))
