"""CPU time and peak memory of a process, where the system tells (Linux: /proc)."""

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def cpu_seconds(pid: int) -> float | None:
    """User and system time so far; None where it cannot be known."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


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
