"""The ways of Linux and macOS, on real processes."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devhost.system import SYSTEM, LockTakenError
from tests.support.waiting import eventually, is_alive

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX processes and locks")

WITH_A_CHILD = (
    "import subprocess, sys, time; sleep = 'import time; time.sleep(600)';"
    "child = subprocess.Popen([sys.executable, '-c', sleep]);"
    "print(child.pid, flush=True); time.sleep(600)"
)
STOPPABLE = """
import asyncio
from devhost.system import SYSTEM
async def main():
    stopped = asyncio.Event()
    SYSTEM.on_stop(asyncio.get_running_loop(), stopped.set)
    print("ready", flush=True)
    await stopped.wait()
    print("in order", flush=True)
asyncio.run(main())
"""


@pytest.fixture
def leader() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", WITH_A_CHILD], stdout=subprocess.PIPE, text=True, **SYSTEM.popen_arguments
    ) as process:
        yield process
        SYSTEM.kill_group(process.pid)


def test_a_group_is_killed_with_its_children(leader: subprocess.Popen[str]) -> None:
    assert leader.stdout is not None
    child = int(leader.stdout.readline())
    assert SYSTEM.group_lives(leader.pid)
    SYSTEM.kill_group(leader.pid)
    assert SYSTEM.was_killed(leader.wait(60))
    eventually(lambda: not is_alive(child), "the child is gone")
    eventually(lambda: not SYSTEM.group_lives(leader.pid), "the group is gone")
    SYSTEM.end(leader.pid)
    SYSTEM.kill_group(leader.pid)  # what is gone is no error


@pytest.mark.parametrize("frozen", [False, True])
def test_a_process_is_asked_to_end_in_order_even_when_frozen(frozen: bool) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STOPPABLE], stdout=subprocess.PIPE, text=True, **SYSTEM.popen_arguments
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if frozen:
            SYSTEM.freeze(process.pid)
        SYSTEM.end(process.pid)
        assert process.stdout.readline() == "in order\n"
    assert process.returncode == 0
    assert SYSTEM.describe_exit(process.returncode) == "ended with code 0"


def test_a_lock_is_one_s_own_until_its_file_is_closed(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("a+") as mine, (tmp_path / "lock").open("a+") as other:
        SYSTEM.lock(mine, wait=False)
        with pytest.raises(LockTakenError):
            SYSTEM.lock(other, wait=False)
        mine.close()
        SYSTEM.lock(other, wait=True)


def test_a_command_takes_this_process_s_place() -> None:
    code = (
        "import os, sys; from devhost.system import SYSTEM; print(os.getpid(), flush=True);"
        "SYSTEM.become([sys.executable, '-c', 'import os; print(os.getpid()); raise SystemExit(5)'])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    first, second = ended.stdout.split()
    assert (first, ended.returncode) == (second, 5)


def test_the_limit_of_open_files_is_raised_as_far_as_it_goes() -> None:
    code = (
        "import resource; from devhost.system import SYSTEM; kind = resource.RLIMIT_NOFILE;"
        "hard = resource.getrlimit(kind)[1]; resource.setrlimit(kind, (64, hard));"
        "told = SYSTEM.allow_many_files(); now = resource.getrlimit(kind)[0];"
        "print((now == hard or now >= 10_240) and told == (None if now == resource.RLIM_INFINITY else now))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "True"


def test_the_programs_are_there() -> None:
    from devhost.azurite.install import node_home

    assert SYSTEM.venv_program(Path(sys.prefix), "python").exists()
    assert os.access(SYSTEM.node_program(node_home()), os.X_OK)
    assert SYSTEM.npm_script(node_home()).is_file()


async def test_the_loop_goes_on_while_it_is_told_to_stop() -> None:
    calls: list[int] = []
    loop = asyncio.get_running_loop()
    SYSTEM.on_stop(loop, lambda: calls.append(1))
    try:
        SYSTEM.end(os.getpid())
        for _ in range(6000):
            if calls:
                break
            await asyncio.sleep(0.01)
        assert calls == [1]
    finally:
        import signal

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
