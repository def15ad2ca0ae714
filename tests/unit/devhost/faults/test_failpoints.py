"""Failpoints: armed by files, acted on by the hook, once."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from devhost.faults.failpoints import (
    FOLDER_SETTING,
    Action,
    Failpoints,
    FailpointTimeoutError,
    UnknownFailpointError,
)
from devhost.faults.plugin import FailpointHook, install
from devhost.paths import ROOT
from shared.failpoints import Point

POINT = Point.WORKER_AFTER_CLAIM
LOOP = """
import asyncio, os
from devhost.faults.plugin import install
from shared.failpoints import Point, reach
install()
async def main():
    for count in range(1, 4):
        await reach(Point.WORKER_AFTER_CLAIM)
        print(count, flush=True)
asyncio.run(main())
"""


def _run(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LOOP],
        cwd=ROOT,
        env={FOLDER_SETTING: str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_kill_ends_the_process_at_the_named_hit_and_only_once(tmp_path: Path) -> None:
    points = Failpoints(tmp_path)
    points.kill(POINT, hit=3)
    killed = _run(tmp_path)
    assert (killed.returncode, killed.stdout.split()) == (-signal.SIGKILL, ["1", "2"])
    assert points.fired(POINT)
    assert _run(tmp_path).returncode == 0


def test_hits_are_counted_across_restarts(tmp_path: Path) -> None:
    Failpoints(tmp_path).kill(POINT, hit=5)
    assert _run(tmp_path).returncode == 0
    assert _run(tmp_path).stdout.split() == ["1"]


async def test_an_unarmed_point_does_nothing(tmp_path: Path) -> None:
    await FailpointHook(tmp_path)(POINT)


async def test_a_held_execution_goes_on_when_released(tmp_path: Path) -> None:
    points, hook = Failpoints(tmp_path), FailpointHook(tmp_path)
    points.hold(POINT)
    execution = asyncio.create_task(hook(POINT))
    await asyncio.to_thread(points.wait_held, POINT)
    assert not execution.done()
    await hook(POINT)  # only the first execution is held
    points.release(POINT)
    await asyncio.wait_for(execution, 60)


async def test_a_point_can_be_held_again(tmp_path: Path) -> None:
    points, hook = Failpoints(tmp_path), FailpointHook(tmp_path)
    for _ in range(2):
        points.hold(POINT)
        execution = asyncio.create_task(hook(POINT))
        await asyncio.to_thread(points.wait_held, POINT)
        assert not execution.done()
        points.release(POINT)
        await asyncio.wait_for(execution, 60)


async def test_error_raises_in_one_execution(tmp_path: Path) -> None:
    points, hook = Failpoints(tmp_path), FailpointHook(tmp_path)
    points.error(POINT)
    with pytest.raises(OSError, match=POINT.value):
        await hook(POINT)
    await hook(POINT)


async def test_a_disarmed_point_does_nothing(tmp_path: Path) -> None:
    points = Failpoints(tmp_path)
    points.error(POINT)
    points.disarm(POINT)
    await FailpointHook(tmp_path)(POINT)


def test_waiting_for_a_point_that_is_not_reached_fails(tmp_path: Path) -> None:
    points = Failpoints(tmp_path)
    points.hold(POINT)
    with pytest.raises(FailpointTimeoutError, match=POINT.value):
        points.wait_held(POINT, timeout=0.05)


def test_the_plugin_refuses_to_load_without_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER_SETTING, raising=False)
    with pytest.raises(RuntimeError, match=FOLDER_SETTING):
        install()


async def test_sleep_delays_one_execution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points, hook = Failpoints(tmp_path), FailpointHook(tmp_path)
    slept: list[float] = []

    async def note(seconds: float) -> None:
        slept.append(seconds)

    points.sleep(POINT, 0.2)
    monkeypatch.setattr(asyncio, "sleep", note)
    await hook(POINT)
    await hook(POINT)
    assert slept == [0.2]


async def test_any_action_can_wait_for_its_hit(tmp_path: Path) -> None:
    points, hook = Failpoints(tmp_path), FailpointHook(tmp_path)
    points.error(POINT, hit=3)
    for hits in (1, 2):
        await hook(POINT)
        assert (points.hits(POINT), points.fired(POINT)) == (hits, False)
    with pytest.raises(OSError, match=POINT.value):
        await hook(POINT)
    await hook(POINT)
    assert (points.hits(POINT), points.fired(POINT)) == (3, True)


async def test_hits_of_an_earlier_arming_do_not_count(tmp_path: Path) -> None:
    points, hook = Failpoints(tmp_path), FailpointHook(tmp_path)
    points.error(POINT, hit=2)
    await hook(POINT)
    points.error(POINT, hit=2)
    await hook(POINT)
    assert not points.fired(POINT)


async def test_what_is_armed_is_listed_until_it_is_consumed(tmp_path: Path) -> None:
    points, hook = Failpoints(tmp_path), FailpointHook(tmp_path)
    points.sleep(POINT, 0.01, hit=1)
    points.hold(Point.WORKER_BEFORE_CLAIM, hit=2)
    assert {name: (what.action, what.hit) for name, what in points.armed.items()} == {
        POINT.value: (Action.SLEEP, 1),
        "worker-before-claim": (Action.HOLD, 2),
    }
    await hook(POINT)
    assert set(points.armed) == {"worker-before-claim"}


async def test_clear_disarms_all_and_lets_the_held_go_on(tmp_path: Path) -> None:
    points, hook = Failpoints(tmp_path), FailpointHook(tmp_path)
    points.error(Point.WORKER_BEFORE_CLAIM)
    points.hold(POINT)
    execution = asyncio.create_task(hook(POINT))
    await asyncio.to_thread(points.wait_held, POINT)
    points.clear()
    await asyncio.wait_for(execution, 60)
    await hook(Point.WORKER_BEFORE_CLAIM)
    assert points.armed == {}


def test_every_point_of_the_application_is_listed(tmp_path: Path) -> None:
    assert set(Failpoints(tmp_path).points) == {point.value for point in Point}


@pytest.mark.parametrize("name", ["worker-after-clam", "", "../worker-after-claim", "worker-after-claim.go"])
def test_an_unknown_point_is_refused_with_those_there_are(tmp_path: Path, name: str) -> None:
    points = Failpoints(tmp_path)
    calls: tuple[Callable[[str], object], ...] = (
        *(points.kill, points.hold, points.error, points.disarm),
        *(points.release, points.fired, points.hits),
    )
    for call in calls:
        with pytest.raises(UnknownFailpointError, match=f"no failpoint '{name}'.*worker-after-claim,"):
            call(name)
    with pytest.raises(UnknownFailpointError):
        points.wait_held(name, timeout=0.01)
    assert list(tmp_path.iterdir()) == []


def test_a_hit_that_can_never_come_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="found 0"):
        Failpoints(tmp_path).error(POINT, hit=0)


async def test_an_error_strikes_as_many_executions_in_a_row_as_it_says(tmp_path: Path) -> None:
    points, hook = Failpoints(tmp_path), FailpointHook(tmp_path)
    points.error(POINT, hit=2, times=2)
    await hook(POINT)
    for fired in (False, True):
        with pytest.raises(OSError, match=str(POINT)):
            await hook(POINT)
        assert points.fired(POINT) is fired
    await hook(POINT)


def test_no_times_at_all_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="times must be 1 or more, found 0"):
        Failpoints(tmp_path).error(POINT, times=0)
