"""Timer functions on a real host."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.host.harness import HostProcess, start_fails, write_app

pytestmark = pytest.mark.host


def _timer(arguments: str, body: str = "pass", head: str = "async def") -> str:
    return f"""
import asyncio, json, sys, time
@app.timer_trigger(arg_name="timer", {arguments})
{head} tick(timer: func.TimerRequest) -> None:
    sys.stderr.write(f"tick {{json.dumps([timer.past_due, timer.schedule_status])}}\\n")
    {body}
"""


def _remember(state: Path, last_updated: datetime) -> None:
    state.mkdir()
    stored = {"last": None, "next": last_updated.isoformat(), "last_updated": last_updated.isoformat()}
    (state / "tick.json").write_text(json.dumps(stored), encoding="utf-8")


def test_a_timer_fires_again_and_again(tmp_path: Path) -> None:
    with HostProcess(write_app(tmp_path, _timer('schedule="* * * * * *"'))) as host:
        host.wait_for_log("tick [false, {}]", times=3)


@pytest.mark.parametrize("head", ["async def", "def"])
def test_run_on_startup_fires_at_once(tmp_path: Path, head: str) -> None:
    source = _timer('schedule="0 0 0 1 1 *", run_on_startup=True', head=head)
    with HostProcess(write_app(tmp_path, source)) as host:
        host.wait_for_log("tick [false,")


def test_without_it_a_timer_waits_for_its_time(tmp_path: Path) -> None:
    with HostProcess(write_app(tmp_path, _timer('schedule="0 0 0 1 1 *"'))) as host:
        assert host.terminate() == 0
        assert "tick [" not in host.log()


def test_a_schedule_comes_from_a_setting(tmp_path: Path) -> None:
    app = write_app(tmp_path, _timer('schedule="%SWEEP%"'), values={"SWEEP": "* * * * * *"})
    with HostProcess(app) as host:
        host.wait_for_log("tick [")


def test_an_interval_is_a_schedule_too(tmp_path: Path) -> None:
    with HostProcess(write_app(tmp_path, _timer('schedule="00:00:01"'))) as host:
        host.wait_for_log("tick [", times=2)


def test_a_run_missed_while_the_host_was_away_happens_at_once_and_says_so(tmp_path: Path) -> None:
    state = tmp_path / "state"
    _remember(state, datetime.now(UTC) - timedelta(hours=3))
    app = write_app(tmp_path / "app", _timer('schedule="0 0 * * * *"'))
    with HostProcess(app, ("--state", str(state))) as host:
        host.wait_for_log("tick [true,")


def test_a_run_that_was_not_missed_does_not_happen_at_once(tmp_path: Path) -> None:
    state = tmp_path / "state"
    _remember(state, datetime.now(UTC))
    app = write_app(tmp_path / "app", _timer('schedule="0 0 0 1 1 *"'))
    with HostProcess(app, ("--state", str(state))) as host:
        assert host.terminate() == 0
        assert "tick [" not in host.log()


def test_without_the_monitor_a_missed_run_stays_missed(tmp_path: Path) -> None:
    state = tmp_path / "state"
    _remember(state, datetime.now(UTC) - timedelta(hours=3))
    kept = (state / "tick.json").read_text(encoding="utf-8")
    app = write_app(
        tmp_path / "app", _timer('schedule="0 0 0 1 1 *", use_monitor=False, run_on_startup=True')
    )
    with HostProcess(app, ("--state", str(state))) as host:
        host.wait_for_log("tick [false, {}]")
        assert host.terminate() == 0
    assert (state / "tick.json").read_text(encoding="utf-8") == kept


def test_a_run_that_was_cut_off_by_a_kill_is_past_due_once_more(tmp_path: Path) -> None:
    state = tmp_path / "state"
    _remember(state, datetime.now(UTC) - timedelta(hours=3))
    app = write_app(tmp_path / "app", _timer('schedule="0 0 * * * *"', "await asyncio.sleep(60)"))
    for _ in range(2):
        with HostProcess(app, ("--state", str(state))) as host:
            host.wait_for_log("tick [true,")
            host.process.kill()
            host.wait()


def test_a_run_both_missed_and_asked_for_at_startup_happens_once(tmp_path: Path) -> None:
    state = tmp_path / "state"
    _remember(state, datetime.now(UTC) - timedelta(days=800))
    app = write_app(tmp_path / "app", _timer('schedule="0 0 0 1 1 *", run_on_startup=True'))
    with HostProcess(app, ("--state", str(state))) as host:
        host.wait_for_log("event=executed function=tick")
        assert host.terminate() == 0
        assert re.findall(r"tick \[(\w+),", host.log()) == ["true"]


def test_what_ran_is_remembered_and_shown_at_the_next_start(tmp_path: Path) -> None:
    state = tmp_path / "state"
    app = write_app(tmp_path / "app", _timer('schedule="0 0 0 1 1 *", run_on_startup=True'))
    with HostProcess(app, ("--state", str(state))) as host:
        host.wait_for_log("event=executed function=tick")
        assert host.terminate() == 0
    last = json.loads((state / "tick.json").read_text(encoding="utf-8"))["last"]
    with HostProcess(app, ("--state", str(state))) as host:
        log = host.wait_for_log("tick [false,")
    assert f'"Last": "{last}"' in log


def test_a_timer_never_runs_twice_at_once(tmp_path: Path) -> None:
    body = 'await asyncio.sleep(1.6); sys.stderr.write("tock\\n")'
    with HostProcess(write_app(tmp_path, _timer('schedule="* * * * * *"', body))) as host:
        log = host.wait_for_log("tock", times=3)
    assert re.findall(r"^(tick|tock)", log, re.MULTILINE)[:5] == ["tick", "tock", "tick", "tock", "tick"]


def test_a_failed_run_does_not_end_the_schedule(tmp_path: Path) -> None:
    source = _timer('schedule="* * * * * *"', 'raise ValueError("planned")')
    with HostProcess(write_app(tmp_path, source)) as host:
        host.wait_for_log("event=failed function=tick", times=2)


def test_a_stopping_host_waits_for_a_running_timer(tmp_path: Path) -> None:
    body = 'await asyncio.sleep(1); sys.stderr.write("tock\\n")'
    with HostProcess(write_app(tmp_path, _timer('schedule="* * * * * *"', body))) as host:
        host.wait_for_log("tick [")
        assert host.terminate() == 0
        assert host.log().count("tock") == host.log().count("tick [")


def test_a_schedule_that_cannot_be_read_does_not_start(tmp_path: Path) -> None:
    log = start_fails(write_app(tmp_path, _timer('schedule="0 61 * * * *"')))
    assert "cannot load the tick function: schedule '0 61 * * * *': '61' does not fit the minute field" in log
