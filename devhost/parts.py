"""One part of the local stack: a process that says on standard output when it is ready."""

import os
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, ClassVar

from devhost.guardian import Guardian
from devhost.system import SYSTEM

ReadReady = Callable[[str], Mapping[str, Any] | None]
"""Reads a line of standard output; answers what the part says of itself once it is ready, else None."""


class PartError(RuntimeError):
    """A part did not do what was asked of it; the text says which and shows its last lines."""


@dataclass(frozen=True, slots=True)
class PartSpec:
    """How to start a part: always the same command, so that it comes back on the same ports."""

    name: str
    command: Sequence[str]
    read_ready: ReadReady
    log: Path
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)


class Run:
    """One life of a part, from its start to its exit."""

    popen: ClassVar[Callable[..., "subprocess.Popen[bytes]"]] = subprocess.Popen
    """What starts the process, with the arguments of `subprocess.Popen`."""

    def __init__(
        self, spec: PartSpec, guardian: Guardian, on_exit: Callable[["Run"], None] | None = None
    ) -> None:
        """Start the process; `on_exit` is called once, in a thread of this run, after it was reaped."""
        self.spec = spec
        self.ready_info: Mapping[str, Any] = {}
        self.started_at = time.monotonic()
        self._on_exit = on_exit
        self._guardian = guardian
        self._settled = threading.Condition()
        self._ready = False
        self._exited = False
        spec.log.parent.mkdir(parents=True, exist_ok=True)
        with spec.log.open("ab") as log:
            self._process = type(self).popen(
                list(spec.command),
                cwd=spec.cwd,
                env={**os.environ, **spec.env},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                **SYSTEM.popen_arguments,  # the terminal's Ctrl-C is for the owner, who ends parts in order
            )
        self.pid = self._process.pid
        guardian.watch(self.pid)
        assert self._process.stdout is not None
        reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        reader.start()
        self._reaper = threading.Thread(target=self._reap, args=(reader,), daemon=True)
        self._reaper.start()

    @property
    def exited(self) -> bool:
        """Whether the process has ended and was reaped."""
        return self._exited

    @property
    def exit_code(self) -> int | None:
        """The exit code, or the negative number of the signal that ended it; None while it runs."""
        return self._process.returncode if self._exited else None

    @property
    def is_ready(self) -> bool:
        """Whether it has said it is ready and still runs."""
        return self._ready and not self._exited

    @property
    def was_ready(self) -> bool:
        """Whether it ever said it was ready."""
        return self._ready

    def wait_ready(self, timeout: float) -> bool:
        """Wait until the part is ready (True), or has ended or `timeout` seconds went by (False)."""
        with self._settled:
            self._settled.wait_for(lambda: self._ready or self._exited, timeout)
        return self.is_ready

    def wait_exit(self, timeout: float) -> bool:
        """Wait until the process has ended, at most `timeout` seconds."""
        with self._settled:
            return self._settled.wait_for(lambda: self._exited, timeout)

    def freeze(self) -> None:
        """Stop the process itself, not its children; one that is gone is no error."""
        if not self._exited:
            SYSTEM.freeze(self.pid)

    def thaw(self) -> None:
        """Let a frozen process go on."""
        if not self._exited:
            SYSTEM.thaw(self.pid)

    def terminate(self, grace: float) -> bool:
        """Ask it to end in order and wait; after `grace` seconds kill it. True when asking was enough."""
        if not self._exited:
            SYSTEM.end(self.pid)
        in_order = self.wait_exit(grace)
        if not in_order:
            self.kill()
        self._reaper.join()
        return in_order

    def kill(self) -> None:
        """End it at once, and wait until it is gone."""
        if not self._exited:
            SYSTEM.kill(self.pid)
        self.wait_exit(10)

    def last_lines(self, count: int = 12) -> str:
        """The end of what the part wrote, for a message to a person."""
        return last_lines(self.spec.log, count)

    def _read(self, stdout: IO[bytes]) -> None:
        with stdout, self.spec.log.open("ab", buffering=0) as log:
            for line in stdout:
                log.write(line)
                info = None if self._ready else self.spec.read_ready(line.decode(errors="replace"))
                if info is not None:
                    with self._settled:
                        self.ready_info = info
                        self._ready = True
                        self._settled.notify_all()

    def _reap(self, reader: threading.Thread) -> None:
        self._process.wait()
        SYSTEM.kill_group(self.pid)  # its children go with it, as a platform ends a whole worker
        reader.join(timeout=5)
        self._guardian.forget(self.pid)
        with self._settled:
            self._exited = True
            self._settled.notify_all()
        if self._on_exit is not None:
            self._on_exit(self)


def last_lines(log: Path, count: int) -> str:
    """The last `count` lines of a log file; empty when there is none."""
    try:
        with log.open("rb") as lines:
            lines.seek(max(0, log.stat().st_size - 64 * 1024))
            return b"".join(deque(lines, count)).decode(errors="replace").rstrip()
    except OSError:
        return ""
