"""Linux and macOS."""

import contextlib
import os
import signal
import socket
import sys
from asyncio import AbstractEventLoop
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, NoReturn

from devhost.system.base import LockTakenError, System

assert sys.platform != "win32"  # for the type checker; devhost.system does not import this module there


class Posix(System):
    """Signals, process groups and `flock`."""

    popen_arguments = {"start_new_session": True}  # noqa: RUF012  declared as a Mapping

    def end(self, pid: int) -> None:
        """SIGTERM, and SIGCONT."""
        _signal(pid, signal.SIGTERM)
        _signal(pid, signal.SIGCONT)

    def kill(self, pid: int) -> None:
        """SIGKILL."""
        _signal(pid, signal.SIGKILL)

    def end_group(self, leader: int) -> None:
        """SIGTERM, and SIGCONT, to the process group."""
        _signal_group(leader, signal.SIGTERM)
        _signal_group(leader, signal.SIGCONT)

    def kill_group(self, leader: int) -> None:
        """SIGKILL to the process group."""
        _signal_group(leader, signal.SIGKILL)

    def group_lives(self, leader: int) -> bool:
        """Signal 0 only looks."""
        return _signal_group(leader, 0)

    def freeze(self, pid: int) -> None:
        """SIGSTOP."""
        _signal(pid, signal.SIGSTOP)

    def thaw(self, pid: int) -> None:
        """SIGCONT."""
        _signal(pid, signal.SIGCONT)

    def was_killed(self, exit_code: int) -> bool:
        """`subprocess` gives a signal's number as a negative code."""
        return exit_code == -signal.SIGKILL

    def describe_exit(self, exit_code: int) -> str:
        """With the signal's name."""
        if exit_code < 0:
            return f"was ended by {signal.Signals(-exit_code).name}"
        return f"ended with code {exit_code}"

    def on_stop(self, loop: AbstractEventLoop, act: Callable[[], None]) -> None:
        """SIGTERM and SIGINT."""
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, act)

    def interrupt_on_stop(self) -> None:
        """SIGTERM and SIGHUP, beside SIGINT."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _interrupt)

    def ignore_stop(self) -> None:
        """SIGINT, SIGTERM and SIGHUP."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)

    def wait_for_stop(self) -> NoReturn:
        """A handler that returns ends one pause, not the wait."""
        while True:
            signal.pause()

    def lock(self, file: IO[str], *, wait: bool) -> None:
        """`flock`."""
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as taken:
            raise LockTakenError from taken

    def make_private(self, folder: Path) -> None:
        """Mode 0700."""
        folder.chmod(0o700)

    def before_bind(self, listener: socket.socket) -> None:
        """SO_REUSEADDR, which here means just that."""
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

    def allow_many_files(self) -> int | None:
        """To the hard limit; macOS refuses more than its kernel's own."""
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        for wanted in (hard, 10_240):
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
                break
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return None if limit == resource.RLIM_INFINITY else limit

    def become(self, command: Sequence[str]) -> NoReturn:
        """`execv`."""
        os.execv(command[0], list(command))  # noqa: S606  no shell is wanted

    def venv_program(self, venv: Path, name: str) -> Path:
        """In `bin`."""
        return venv / "bin" / name

    def node_program(self, package: Path) -> Path:
        """In `bin`, as the wheels for Linux and macOS have it."""
        return package / "bin" / "node"

    def npm_script(self, package: Path) -> Path:
        """In `lib`, as the wheels for Linux and macOS have it."""
        return package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _signal_group(leader: int, number: int) -> bool:
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
