"""Progress for a person waiting: one line a step, on standard error, with the seconds it took."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_TICK_SECONDS = 1.0


@contextmanager
def step(what: str) -> Iterator[None]:
    """Announce a step; on a terminal its seconds count up, elsewhere two lines are printed."""
    begun = time.monotonic()
    done = threading.Event()
    ticker = threading.Thread(target=_tick, args=(what, begun, done), daemon=True)
    if sys.stderr.isatty():
        ticker.start()
    else:
        say(f"{what} ...")
    ending = "failed"
    try:
        yield
        ending = "done"
    finally:
        done.set()
        if ticker.is_alive():
            ticker.join()
        start_of_line = "\r\033[K" if sys.stderr.isatty() else ""
        say(f"{start_of_line}{what}: {ending} ({time.monotonic() - begun:.0f} s)")


def say(text: str) -> None:
    """One line on standard error."""
    print(text, file=sys.stderr, flush=True)


def _tick(what: str, begun: float, done: threading.Event) -> None:
    while not done.wait(_TICK_SECONDS):
        print(f"\r\033[K{what} ... {time.monotonic() - begun:.0f} s", end="", file=sys.stderr, flush=True)
