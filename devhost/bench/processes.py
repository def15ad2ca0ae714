"""CPU time and peak memory of a process, where the system tells (Linux)."""

import time
from collections.abc import Callable
from pathlib import Path

_SCHEDULED = 2
"""The kernel's number for "time on a CPU", in the id of a process's clock."""


def cpu_seconds(pid: int) -> float | None:
    """User and system time so far, exact to less than a millisecond; None where it cannot be known.

    The clock's id is made as `clock_getcpuclockid` makes it on Linux (linux/posix-timers_types.h).
    """
    clock: Callable[[int], float] | None = getattr(time, "clock_gettime", None)
    if clock is None or not Path("/proc/self/stat").exists():
        return None
    try:
        return clock(~pid << 3 | _SCHEDULED)
    except OSError:
        return None


def peak_bytes(pid: int) -> int | None:
    """The most memory it held since it started, or since `reset_peak`."""
    return _status(pid, "VmHWM:")


def resident_bytes(pid: int) -> int | None:
    """The memory it holds now."""
    return _status(pid, "VmRSS:")


def reset_peak(pid: int) -> bool:
    """Begin the peak anew; False where that is not possible."""
    try:
        Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def _status(pid: int, name: str) -> int | None:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    found = next((line.split()[1] for line in lines if line.startswith(name)), None)
    return None if found is None else int(found) * 1024
