"""What differs between operating systems: signals that end the broker, and the limit of open sockets."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from contextlib import suppress


def on_stop_signal(stop: Callable[[], None]) -> None:
    """Call `stop` on the running loop when the process is asked to end (interrupt, terminate, or break)."""
    loop = asyncio.get_running_loop()
    for number in _stop_signals():
        if sys.platform == "win32":  # its loops take no signal handlers
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))
        else:
            loop.add_signal_handler(number, stop)


def allow_many_sockets() -> None:
    """Each SDK sender and receiver is a connection of its own. Windows has no such limit."""
    if sys.platform == "win32":
        return
    import resource  # there is none on Windows

    with suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _stop_signals() -> list[signal.Signals]:
    names = ("SIGINT", "SIGTERM", "SIGBREAK")
    return [number for number in signal.Signals if number.name in names]
