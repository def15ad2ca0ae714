"""Failpoints: armed by files, acted on by the hook, once."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from devhost.faults.failpoints import FOLDER_SETTING, Failpoints, FailpointTimeoutError
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
    await asyncio.wait_for(execution, 5)


async def test_a_point_can_be_held_again(tmp_path: Path) -> None:
    points, hook = Failpoints(tmp_path), FailpointHook(tmp_path)
    for _ in range(2):
        points.hold(POINT)
        execution = asyncio.create_task(hook(POINT))
        await asyncio.to_thread(points.wait_held, POINT)
        assert not execution.done()
        points.release(POINT)
        await asyncio.wait_for(execution, 5)


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
