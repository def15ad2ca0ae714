"""What the blocking SDK leaves behind, ended where it can fail no other test.

azure-servicebus 7.15.0 drops the socket of a connection that broke without closing it, within a cycle: it
is closed, with a ResourceWarning, when the cycle is collected, in whichever test that happens. And a client
knows its senders and receivers by weak references: one that is forgotten unclosed is never closed, and its
keep-alive thread stays connected for as long as the broker does.
"""

from __future__ import annotations

import gc
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

_LAST_LOOK = 60.0
"""Seconds for the last look of a keep-alive thread, which looks once a second."""


@contextmanager
def sockets_may_leak() -> Iterator[None]:
    """Within the block they are no failure, and at its end what was left is collected."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()


def end_keep_alives() -> None:
    """End every keep-alive thread of the SDK: for when no handler is in use any more."""
    threads = [thread for thread in threading.enumerate() if thread.name.endswith("(_keep_alive)")]
    for thread in threads:
        # The thread forgets its target when it ends by itself.
        target = getattr(cast("Any", thread), "_target", None)
        if target is not None:
            target.__self__._shutdown = True
    for thread in threads:
        thread.join(_LAST_LOOK)
    left = [thread.name for thread in threads if thread.is_alive()]
    assert not left, f"the SDK's threads go on: {left}"
