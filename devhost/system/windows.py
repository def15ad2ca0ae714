"""Windows: console events, `taskkill` and `msvcrt.locking`.

Sources: https://docs.python.org/3/library/os.html#os.kill (where `os.kill(pid, 0)` is a Ctrl-C),
https://docs.python.org/3/library/msvcrt.html and https://learn.microsoft.com/windows/console/ctrl-c-and-ctrl-break-signals
"""

import contextlib
import importlib
import os
import signal
import socket
import subprocess
import sys
import time
from asyncio import AbstractEventLoop
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, NoReturn

from devhost.system.base import LockTakenError, NotOnThisSystemError, System

_CREATE_NEW_PROCESS_GROUP = 0x200
_CTRL_BREAK_EVENT = 1
"""The one console event that can be sent to another group; there it arrives as SIGBREAK."""
_SIGBREAK = 21
_TERMINATED = 15
"""The exit code that `os.kill` gives a process which it terminates with SIGTERM."""
_LOCKED_BYTES = 1
_LOCK_OFFSET = 1 << 30
"""Windows' locks forbid reading, so the lock is taken on a byte behind what the file holds."""
_SO_EXCLUSIVEADDRUSE = -5
_TURN_SECONDS = 0.2


class Windows(System):
    """Console events, `taskkill` and `msvcrt.locking`."""

    popen_arguments = {"creationflags": _CREATE_NEW_PROCESS_GROUP}  # noqa: RUF012  declared as a Mapping

    def end(self, pid: int) -> None:
        """Ctrl-Break: what Python can catch and `TerminateProcess` is not."""
        with contextlib.suppress(OSError):
            os.kill(pid, _CTRL_BREAK_EVENT)

    def kill(self, pid: int) -> None:
        """`TerminateProcess`."""
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGTERM)

    def end_group(self, leader: int) -> None:
        """Ctrl-Break goes to the whole group."""
        self.end(leader)

    def kill_group(self, leader: int) -> None:
        """`taskkill` with the tree below the process."""
        _run("taskkill", "/F", "/T", "/PID", str(leader))

    def group_lives(self, leader: int) -> bool:
        """As `tasklist` has it: the leader alone."""
        return f'"{leader}"' in _run("tasklist", "/FO", "CSV", "/NH", "/FI", f"PID eq {leader}")

    def freeze(self, pid: int) -> NoReturn:
        """Not there."""
        raise NotOnThisSystemError(
            f"Windows cannot freeze process {pid}. Let a proxy stall or swallow its connections instead."
        )

    def thaw(self, pid: int) -> None:
        """Nothing is ever frozen."""

    def was_killed(self, exit_code: int) -> bool:
        """As `kill` does it."""
        return exit_code == _TERMINATED

    def describe_exit(self, exit_code: int) -> str:
        """There are no signals, only codes."""
        return f"ended with code {exit_code}"

    def on_stop(self, loop: AbstractEventLoop, act: Callable[[], None]) -> None:
        """Ctrl-C and Ctrl-Break; the Proactor loop has no `add_signal_handler`."""

        def handle(_number: int, _frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(act)

        for number in (signal.SIGINT, _SIGBREAK):
            signal.signal(number, handle)

    def interrupt_on_stop(self) -> None:
        """Ctrl-Break, beside Ctrl-C."""
        signal.signal(_SIGBREAK, _interrupt)

    def ignore_stop(self) -> None:
        """Ctrl-C and Ctrl-Break."""
        for number in (signal.SIGINT, _SIGBREAK):
            signal.signal(number, signal.SIG_IGN)

    def wait_for_stop(self) -> NoReturn:
        """A long sleep is not interrupted there, so many short ones."""
        while True:
            time.sleep(_TURN_SECONDS)

    def lock(self, file: IO[str], *, wait: bool) -> None:
        """`msvcrt.locking`; its own waiting gives up after ten seconds, so this one tries again and again."""
        msvcrt = importlib.import_module("msvcrt")
        file.seek(_LOCK_OFFSET)
        try:
            while True:
                try:
                    msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, _LOCKED_BYTES)
                except OSError as taken:
                    if not wait:
                        raise LockTakenError from taken
                    time.sleep(_TURN_SECONDS)
                else:
                    return
        finally:
            file.seek(0)

    def make_private(self, folder: Path) -> None:
        """A folder inherits who may enter it; a user's own are private already."""

    def before_bind(self, listener: socket.socket) -> None:
        """SO_EXCLUSIVEADDRUSE: SO_REUSEADDR would share a port with whoever listens on it."""
        listener.setsockopt(socket.SOL_SOCKET, _SO_EXCLUSIVEADDRUSE, 1)

    def allow_many_files(self) -> int | None:
        """There is no such limit on sockets."""
        return None

    def become(self, command: Sequence[str]) -> NoReturn:
        """`execv` there returns to the shell at once, so the command is waited for."""
        sys.exit(subprocess.run(list(command), check=False).returncode)

    def venv_program(self, venv: Path, name: str) -> Path:
        """In `Scripts`."""
        return venv / "Scripts" / f"{name}.exe"

    def node_program(self, package: Path) -> Path:
        """At the top, as the wheel for Windows has it."""
        return package / "node.exe"

    def npm_script(self, package: Path) -> Path:
        """At the top, as the wheel for Windows has it."""
        return package / "node_modules" / "npm" / "bin" / "npm-cli.js"


def _run(*command: str) -> str:
    """What a system's program prints."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )
    return done.stdout


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
