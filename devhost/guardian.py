"""Ends the parts of a local stack whose owner died without ending them (SIGKILL, a crash).

A tiny process of its own: it is told the process groups over its standard input, and end of file there means
that the owner is gone. Works on every POSIX system; standard library only, started without site-packages.
One gap is left: an owner killed between starting a part and naming it here, some microseconds.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TextIO

GRACE_SECONDS = 3.0
"""How long parts get after SIGTERM: Azurite writes its database to disk in that time."""


class Guardian:
    """The owner's end. Closing it without naming any group ends the guardian itself."""

    def __init__(self) -> None:
        """Start the guardian process."""
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__).resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
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
    """SIGTERM (and SIGCONT for frozen ones), `grace` seconds, then SIGKILL."""
    for group in groups:
        signal_group(group, signal.SIGTERM)
        signal_group(group, signal.SIGCONT)
    until = time.monotonic() + grace
    while time.monotonic() < until and any(_alive(group) for group in groups):
        time.sleep(0.05)
    for group in groups:
        signal_group(group, signal.SIGKILL)


def signal_group(group: int, number: int) -> None:
    """Signal a process group; one that is gone is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    guard(sys.stdin)
