"""Ends the parts of a local stack whose owner died without ending them (SIGKILL, a crash).

A tiny process of its own: it is told the process groups over its standard input, and end of file there means
that the owner is gone. Standard library only, started without site-packages.
One gap is left: an owner killed between starting a part and naming it here, some microseconds.
"""

import contextlib
import subprocess
import sys
import time
from pathlib import Path
from typing import TextIO

from devhost.system import SYSTEM

GRACE_SECONDS = 3.0
"""How long parts get to end in order: Azurite writes its database to disk in that time."""
_RUN = "import sys; sys.path.insert(0, sys.argv[1]); from devhost.guardian import main; main()"


class Guardian:
    """The owner's end. Closing it without naming any group ends the guardian itself."""

    def __init__(self) -> None:
        """Start the guardian process."""
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _RUN, str(Path(__file__).resolve().parent.parent)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            **SYSTEM.popen_arguments,
        )

    def watch(self, group: int) -> None:
        """From now on, end this process group when the owner dies."""
        self._tell(f"watch {group}")

    def forget(self, group: int) -> None:
        """The group is gone; its number may be given to others."""
        self._tell(f"forget {group}")

    def close(self) -> None:
        """The owner ends in order; groups still watched are ended by the guardian."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()


def guard(commands: TextIO) -> None:
    """Follow `commands` to their end, then end every group still watched."""
    groups: set[int] = set()
    for line in commands:
        action, _, group = line.strip().partition(" ")
        if action == "watch":
            groups.add(int(group))
        elif action == "forget":
            groups.discard(int(group))
    end_groups(groups, GRACE_SECONDS)


def end_groups(groups: set[int], grace: float) -> None:
    """Ask them to end, wait up to `grace` seconds, then kill."""
    for group in groups:
        SYSTEM.end_group(group)
    until = time.monotonic() + grace
    while time.monotonic() < until and any(SYSTEM.group_lives(group) for group in groups):
        time.sleep(0.05)
    for group in groups:
        SYSTEM.kill_group(group)


def main() -> None:
    """Guard what standard input names; only the owner's end ends this process."""
    SYSTEM.ignore_stop()
    guard(sys.stdin)
