"""The watchdog over running functions."""

import threading
import time
from datetime import timedelta

from devhost.functions.watchdog import Watchdog


def test_it_barks_at_the_first_invocation_that_overruns() -> None:
    barked: list[str] = []
    heard = threading.Event()

    def on_timeout(label: str) -> None:
        barked.append(label)
        heard.set()

    watchdog = Watchdog(timedelta(seconds=0.2), on_timeout)
    watchdog.watch("1", "first")
    watchdog.watch("2", "second")
    watchdog.release("1")
    assert heard.wait(60)
    assert barked == ["second"]


def test_it_keeps_still_when_all_end_in_time() -> None:
    heard, limit, longest = threading.Event(), 0.2, 0.0
    watchdog = Watchdog(timedelta(seconds=limit), lambda _: heard.set())
    for number in range(20):
        begun = time.monotonic()
        watchdog.watch(str(number), "quick")
        watchdog.release(str(number))
        longest = max(longest, time.monotonic() - begun)
    assert not heard.wait(0.5) or longest >= limit
