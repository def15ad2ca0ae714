"""Waiting for something another process does, and for proof that a wait is bounded."""

import os
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

_Result = TypeVar("_Result")
_TRIES = 5


async def in_time(seconds: float, attempt: Callable[[], Awaitable[_Result]]) -> _Result:
    """What an attempt came to that took less than `seconds`.

    A busy machine may take longer now and then, code without a bound always does: it has some tries.
    """
    took = []
    for _ in range(_TRIES):
        began = time.monotonic()
        result = await attempt()
        took.append(time.monotonic() - began)
        if took[-1] < seconds:
            return result
    raise AssertionError(f"not once within {seconds:g} s; it took {', '.join(f'{one:.1f}' for one in took)}")


def eventually(condition: Callable[[], bool], what: str, timeout: float = 90) -> None:
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
