"""One life of a part."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from devhost.guardian import Guardian
from devhost.parts import Run
from tests.support.parts import READY, program
from tests.support.waiting import eventually, is_alive


@pytest.fixture
def guardian() -> Iterator[Guardian]:
    watcher = Guardian()
    yield watcher
    watcher.close()


def test_what_a_part_says_when_ready_is_kept(tmp_path: Path, guardian: Guardian) -> None:
    run = Run(program(tmp_path, 'print("hello"); print(\'{"port": 5}\', flush=True); input()'), guardian)
    run.wait_exit(60)
    assert run.ready_info == {"port": 5}


def test_a_part_that_ends_before_it_is_ready_is_noticed_at_once(tmp_path: Path, guardian: Guardian) -> None:
    run = Run(program(tmp_path, "import sys; sys.exit('no licence')"), guardian)
    assert not run.wait_ready(timeout=60)
    assert run.exit_code == 1
    assert "no licence" in run.last_lines()


def test_terminate_lets_a_part_end_in_order(tmp_path: Path, guardian: Guardian) -> None:
    code = (
        "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))\n"
        + READY
        + "time.sleep(600)"
    )
    run = Run(program(tmp_path, code), guardian)
    assert run.wait_ready(60)
    assert run.terminate(grace=60)
    assert run.exit_code == 3


def test_a_part_deaf_to_sigterm_is_killed_after_the_grace(tmp_path: Path, guardian: Guardian) -> None:
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + READY + "time.sleep(600)"
    run = Run(program(tmp_path, code), guardian)
    assert run.wait_ready(60)
    assert not run.terminate(grace=0.1)
    assert run.exit_code == -signal.SIGKILL


def test_a_frozen_part_can_be_ended(tmp_path: Path, guardian: Guardian) -> None:
    run = Run(program(tmp_path, READY + "time.sleep(600)"), guardian)
    assert run.wait_ready(60)
    run.freeze()
    assert run.terminate(grace=60)


def test_the_children_of_a_killed_part_go_with_it(tmp_path: Path, guardian: Guardian) -> None:
    code = (
        "import subprocess, sys, json, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(json.dumps({'child': child.pid}), flush=True); time.sleep(600)"
    )
    run = Run(program(tmp_path, code), guardian)
    assert run.wait_ready(60)
    run.kill()
    eventually(lambda: not is_alive(run.ready_info["child"]), "the child is gone")
