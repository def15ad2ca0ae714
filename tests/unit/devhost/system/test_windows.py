"""Windows' ways, with stand-ins for what only Windows has."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from devhost.system import LockTakenError, NotOnThisSystemError
from devhost.system import windows as module
from devhost.system.windows import Windows

WINDOWS = Windows()
CTRL_BREAK_EVENT, SIGBREAK = 1, 21


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    kills: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: kills.append((pid, number)))
    return kills


@pytest.fixture
def handlers(monkeypatch: pytest.MonkeyPatch) -> dict[int, object]:
    given: dict[int, object] = {}
    monkeypatch.setattr(signal, "signal", lambda number, handler: given.update({int(number): handler}))
    return given


@pytest.fixture
def locking(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How often `msvcrt.locking` is refused before it grants, and then where in the file it was asked."""
    refusals = [0]

    def lock(descriptor: int, _mode: int, count: int) -> None:
        if refusals[0] > 0:
            refusals[0] -= 1
            raise PermissionError(13, "Permission denied")
        refusals.append(os.lseek(descriptor, 0, os.SEEK_CUR))
        assert count == 1

    fake = types.ModuleType("msvcrt")
    fake.__dict__.update(locking=lock, LK_NBLCK=2)
    monkeypatch.setitem(sys.modules, "msvcrt", fake)
    monkeypatch.setattr(module, "_TURN_SECONDS", 0.001)
    return iter([refusals])


def test_windows_is_chosen_where_python_says_win32() -> None:
    loaded_first = "import asyncio, subprocess, sys; sys.platform = 'win32'"
    code = f"{loaded_first}; from devhost.system import SYSTEM; print(type(SYSTEM))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "devhost.system.windows.Windows" in shown.stdout


def test_a_process_is_asked_to_end_by_ctrl_break_which_it_can_catch(sent: list[tuple[int, int]]) -> None:
    WINDOWS.end(7)
    WINDOWS.end_group(8)
    assert sent == [(7, CTRL_BREAK_EVENT), (8, CTRL_BREAK_EVENT)]


def test_a_kill_is_told_from_an_end_by_its_exit_code(sent: list[tuple[int, int]]) -> None:
    WINDOWS.kill(7)
    assert sent == [(7, 15)]
    assert WINDOWS.was_killed(15)
    assert not WINDOWS.was_killed(1)
    assert WINDOWS.describe_exit(15) == "ended with code 15"


def test_a_process_that_is_gone_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_pid: int, _number: int) -> None:
        raise OSError(87, "The parameter is incorrect")

    monkeypatch.setattr(os, "kill", gone)
    WINDOWS.end(7)
    WINDOWS.kill(7)


def test_a_group_is_killed_with_the_tree_below_it_and_looked_for_without_a_signal(
    monkeypatch: pytest.MonkeyPatch, sent: list[tuple[int, int]]
) -> None:
    ran: list[tuple[str, ...]] = []

    def run(command: tuple[str, ...], **_options: object) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        return subprocess.CompletedProcess(command, 0, '"node.exe","7","Console","1","90 K"\n', "")

    monkeypatch.setattr(subprocess, "run", run)
    WINDOWS.kill_group(7)
    assert WINDOWS.group_lives(7)
    assert not WINDOWS.group_lives(9)
    assert ran[0] == ("taskkill", "/F", "/T", "/PID", "7")
    assert sent == []


def test_freezing_is_refused_with_what_to_do_instead() -> None:
    with pytest.raises(NotOnThisSystemError, match="cannot freeze process 7"):
        WINDOWS.freeze(7)
    WINDOWS.thaw(7)


async def test_the_loop_is_told_of_ctrl_c_and_ctrl_break_without_add_signal_handler(
    handlers: dict[int, object],
) -> None:
    stopped = asyncio.Event()
    WINDOWS.on_stop(asyncio.get_running_loop(), stopped.set)
    assert set(handlers) == {signal.SIGINT, SIGBREAK}
    handle = handlers[SIGBREAK]
    assert callable(handle)
    handle(SIGBREAK, None)
    await asyncio.wait_for(stopped.wait(), 60)


def test_ctrl_break_interrupts_or_is_ignored_as_asked(handlers: dict[int, object]) -> None:
    WINDOWS.interrupt_on_stop()
    interrupt = handlers.pop(SIGBREAK)
    assert callable(interrupt)
    with pytest.raises(KeyboardInterrupt):
        interrupt(SIGBREAK, None)
    assert handlers == {}  # Ctrl-C does so by itself
    WINDOWS.ignore_stop()
    assert handlers == {signal.SIGINT: signal.SIG_IGN, SIGBREAK: signal.SIG_IGN}


def test_a_lock_that_is_taken_is_an_error_or_waited_for(tmp_path: Path, locking: Iterator[list[int]]) -> None:
    refusals = next(locking)
    with (tmp_path / "lock").open("a+") as file:
        refusals[0] = 1
        with pytest.raises(LockTakenError):
            WINDOWS.lock(file, wait=False)
        refusals[0] = 3
        WINDOWS.lock(file, wait=True)
        assert refusals[0] == 0


def test_the_lock_leaves_what_the_file_says_readable(tmp_path: Path, locking: Iterator[list[int]]) -> None:
    refusals = next(locking)
    (tmp_path / "lock").write_text("4711")
    with (tmp_path / "lock").open("a+") as file:
        WINDOWS.lock(file, wait=False)
        assert refusals[-1] > 1_000_000
        assert file.read() == "4711"


def test_a_port_is_never_shared_with_whoever_listens_on_it() -> None:
    class Listener(socket.socket):
        given: ClassVar[list[tuple[object, ...]]] = []

        def setsockopt(self, *option: object) -> None:
            self.given.append(option)

    with Listener() as listener:
        WINDOWS.before_bind(listener)
    assert Listener.given == [(socket.SOL_SOCKET, -5, 1)]  # SO_EXCLUSIVEADDRUSE of winsock2.h, ~SO_REUSEADDR


def test_a_command_is_waited_for_and_its_code_is_this_process_s_own() -> None:
    with pytest.raises(SystemExit) as ended:
        WINDOWS.become([sys.executable, "-c", "raise SystemExit(5)"])
    assert ended.value.code == 5


def test_programs_are_where_windows_has_them(tmp_path: Path) -> None:
    assert WINDOWS.venv_program(tmp_path, "python") == tmp_path / "Scripts" / "python.exe"
    assert WINDOWS.node_program(tmp_path) == tmp_path / "node.exe"
    assert WINDOWS.npm_script(tmp_path) == tmp_path / "node_modules" / "npm" / "bin" / "npm-cli.js"
