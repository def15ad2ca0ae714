"""The folder a local stack keeps its data in: one stack at a time."""

import os
from pathlib import Path
from typing import IO

from devhost.system import SYSTEM, LockTakenError


class StateInUseError(RuntimeError):
    """Another local stack uses the folder."""


class StateFolderError(RuntimeError):
    """The folder cannot be made or written; the text says why."""


class StateFolder:
    """A state folder, locked for this process until `release`; the lock ends with the process in any case."""

    def __init__(self, path: Path) -> None:
        """Create the folder if needed, for its owner alone, and lock it."""
        self.path = path
        self.logs = path / "logs"
        try:
            self._lock = self._open()
        except OSError as fault:
            raise StateFolderError(
                f"{path} cannot be used for the stack's data: {fault.strerror}. Choose another with --state."
            ) from fault
        try:
            SYSTEM.lock(self._lock, wait=False)
        except LockTakenError as taken:
            self._lock.seek(0)
            owner = self._lock.read().strip() or "unknown"
            self._lock.close()
            raise StateInUseError(
                f"Another local stack (process {owner}) uses {path}. Stop it, or choose another with --state."
            ) from taken
        self._lock.truncate(0)
        self._lock.write(str(os.getpid()))
        self._lock.flush()

    def _open(self) -> IO[str]:
        lock = self.path / "lock"
        if (
            not self.path.exists() or lock.exists()
        ):  # a folder that is someone's for other things stays as it is
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            SYSTEM.make_private(self.path)
        self.logs.mkdir(mode=0o700, exist_ok=True)
        return lock.open("a+", encoding="utf-8")

    def fresh_log(self, part: str) -> Path:
        """An empty log file for a part."""
        log = self.logs / f"{part}.log"
        log.write_bytes(b"")
        return log

    def release(self) -> None:
        """Let others use the folder."""
        self._lock.close()
