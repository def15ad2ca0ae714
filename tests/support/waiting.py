"""Waiting for something another process does."""

import os
import time
from collections.abc import Callable


def eventually(condition: Callable[[], bool], what: str, timeout: float = 15) -> None:
    """Wait until `condition()`; fail with `what` after `timeout` seconds."""
    until = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > until:
            raise AssertionError(f"not within {timeout:g} s: {what}")
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        with open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123  no path but a kernel interface
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return not os.path.isdir("/proc/1")  # noqa: PTH112
