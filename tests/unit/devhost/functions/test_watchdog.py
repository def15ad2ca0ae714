"""The watchdog over running functions."""

import threading
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
    assert heard.wait(10)
    assert barked == ["second"]


def test_it_keeps_still_when_all_end_in_time() -> None:
    heard = threading.Event()
    watchdog = Watchdog(timedelta(seconds=0.2), lambda _: heard.set())
    for number in range(20):
        watchdog.watch(str(number), "quick")
        watchdog.release(str(number))
    assert not heard.wait(0.5)
