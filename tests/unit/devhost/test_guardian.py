"""The guardian ends what its dead owner left."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from devhost.guardian import Guardian
from devhost.paths import ROOT
from tests.support.waiting import eventually, is_alive

OWNER = """
import subprocess, sys, time
from devhost.guardian import Guardian
command = [sys.executable, "-I", "-c", {code!r}]
child = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE)
child.stdout.readline()
guardian = Guardian()
guardian.watch(child.pid)
print(child.pid, flush=True)
time.sleep(60)
"""
SLEEPER = "import time; print('ready', flush=True); time.sleep(600)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SLEEPER


def _orphaned_child(code: str, *, frozen: bool = False) -> int:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER.format(code=code)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    with owner:
        assert owner.stdout is not None
        child = int(owner.stdout.readline())
        if frozen:
            os.kill(child, signal.SIGSTOP)
        owner.kill()
    return child


@pytest.mark.parametrize("code", [SLEEPER, STUBBORN], ids=["willing", "ignoring SIGTERM"])
def test_a_part_of_an_owner_killed_by_sigkill_is_ended(code: str) -> None:
    child = _orphaned_child(code)
    eventually(lambda: not is_alive(child), "the part is gone")


def test_a_frozen_part_of_a_killed_owner_is_ended() -> None:
    child = _orphaned_child(SLEEPER, frozen=True)
    eventually(lambda: not is_alive(child), "the frozen part is gone")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-I", "-c", SLEEPER], start_new_session=True) as process:
        yield process
        process.kill()


def test_a_group_that_was_forgotten_is_left_alone(sleeper: subprocess.Popen[bytes]) -> None:
    guardian = Guardian()
    guardian.watch(sleeper.pid)
    guardian.forget(sleeper.pid)
    guardian.close()
    assert sleeper.poll() is None
