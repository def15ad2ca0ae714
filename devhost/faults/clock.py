"""Moves the time of a running local broker: what takes it minutes or days happens at once.

The broker must have been started with `--clock FILE`. Times that go back harm nothing: locks then last
longer, and what was done stays done. The Python SDK judges two things by its own clock, which stays: it
refuses to settle a message whose `locked_until` is past, without asking the broker, so set time back only
before a message is received; and it dates its tokens, which is why tokens have an offset of their own.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from devhost.servicebus.clock import Offsets, read_offsets, seen_file, write_offsets

_POLL_SECONDS = 0.005


class ClockTimeoutError(TimeoutError):
    """The broker did not follow: it does not run, stands still, or was started without this file."""


@dataclass(frozen=True, slots=True)
class BrokerClock:
    """The time of the broker that was started with `--clock file`. For one caller at a time."""

    file: Path

    @property
    def offsets(self) -> Offsets:
        """What was set last; it outlives the broker's restarts."""
        return read_offsets(self.file)

    def advance(self, seconds: float, *, timeout: float | None = 60) -> None:
        """Put the queues' time forward (back, if negative); done when all that is due by then is done.

        That takes about 50 ms, in which the caller's thread waits. With `timeout` None it does not wait, as
        for a broker that is not running. Raises `ClockTimeoutError` after `timeout` seconds.
        """
        now = self.offsets
        self._set(replace(now, queues=now.queues + seconds), timeout)

    def advance_tokens(self, seconds: float, *, timeout: float | None = 60) -> None:
        """Put forward the time by which tokens are checked: by an hour, and all there are have expired."""
        now = self.offsets
        self._set(replace(now, tokens=now.tokens + seconds), timeout)

    def reset(self, *, timeout: float | None = 60) -> None:
        """Back to the system's time."""
        self._set(Offsets(), timeout)

    def _set(self, offsets: Offsets, timeout: float | None) -> None:
        seen_file(self.file).unlink(missing_ok=True)
        write_offsets(self.file, offsets)
        if timeout is None:
            return
        until = time.monotonic() + timeout
        while not self._seen(offsets):
            if time.monotonic() > until:
                raise ClockTimeoutError(
                    f"the broker did not follow {self.file} within {timeout:g} s: "
                    "is it running, and was it started with --clock?"
                )
            time.sleep(_POLL_SECONDS)

    def _seen(self, offsets: Offsets) -> bool:
        seen = seen_file(self.file)
        return seen.exists() and read_offsets(seen) == offsets
