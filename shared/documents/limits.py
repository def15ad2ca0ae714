"""How much one document may cost, and how a process confines itself to that."""

import sys
from dataclasses import dataclass

MIB = 1024 * 1024
ORPHAN_GRACE_SECONDS = 2.0
"""The parent kills at the limit; a child whose parent died ends itself this much later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLimits:
    """Bounds of one reading. Whatever is over one fails the document; nothing is cut silently."""

    seconds: float = 60.0
    """Wall time of the reading process."""
    memory_bytes: int = 512 * MIB
    """Address space of the reading process (POSIX; elsewhere only time limits it)."""
    pages: int = 2_000
    characters: int = 2_000_000
    """Of extracted text, about 800 dense pages."""


def confine_this_process(limits: ReadLimits) -> None:
    """Bound this process's memory and time, and forbid it to write files. For a child: it cannot be undone.

    By POSIX `setrlimit`; on a platform without it (Windows) only the parent's time limit holds.
    """
    if sys.platform == "win32":
        return
    import resource
    import signal

    for kind, wanted in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (limit, limit))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limits.seconds + ORPHAN_GRACE_SECONDS)
