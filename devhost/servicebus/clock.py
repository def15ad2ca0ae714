"""The broker's time, moved by a file: for tests of what takes minutes or days.

The file holds one or two numbers, offsets in seconds to the system's clock: of the queues' time, and of the
time tokens are checked by (0 if left out). They are apart because clients date their tokens by their own
clocks: with one offset for both, no client could log in any more after an hour was skipped. Once all that
is due by the new time is done, the file `<name>.seen` repeats the offsets.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from devhost.servicebus.model import StorageFaultError

log = logging.getLogger(__name__)
_LOOK_SECONDS = 0.02
_FURTHEST = 100 * 366 * 86_400.0


class ClockFileError(ValueError):
    """The file is not one or two numbers of seconds, or cannot be read."""


@dataclass(frozen=True, slots=True)
class Offsets:
    """Seconds ahead of the system's clock (behind it, if negative)."""

    queues: float = 0.0
    tokens: float = 0.0

    def __str__(self) -> str:
        return f"{self.queues!r} {self.tokens!r}\n"


def seen_file(file: Path) -> Path:
    """Where the broker tells which offsets it has followed."""
    return file.with_name(f"{file.name}.seen")


def read_offsets(file: Path) -> Offsets:
    """What the file says; none if there is no such file yet. Raises `ClockFileError`."""
    try:
        words = file.read_text(encoding="ascii").split()
    except FileNotFoundError:
        return Offsets()
    except (OSError, UnicodeDecodeError) as error:
        raise ClockFileError(f"the clock file {file} cannot be read: {error}") from error
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2) or not all(abs(number) <= _FURTHEST for number in numbers):
        raise ClockFileError(
            f"the clock file {file} must hold one or two numbers of seconds, of at most a hundred years"
        )
    return Offsets(*numbers)


def write_offsets(file: Path, offsets: Offsets) -> None:
    """Replaces the file at once, so that no reader finds half of it."""
    draft = file.with_name(f"{file.name}.draft")
    draft.write_text(str(offsets), encoding="ascii")
    draft.replace(file)


class FollowedClock:
    """The system's clock with the offsets of a file. Raises `ClockFileError`."""

    def __init__(self, file: Path, system: Callable[[], float] = time.time) -> None:
        self._file = file
        self._system = system
        self._offsets = read_offsets(file)
        self._complained = False
        self._failure = ""

    def queue_time(self) -> float:
        """Epoch seconds, for locks, schedules, times to live and the memory of duplicates."""
        return self._system() + self._offsets.queues

    def token_time(self) -> float:
        """Epoch seconds, for the expiry of tokens."""
        return self._system() + self._offsets.tokens

    async def follow(self, moved: Callable[[], Awaitable[None]]) -> None:
        """Follows the file for ever; `moved` does what is due by the new time, again if it failed."""
        followed: Offsets | None = None
        while True:
            offsets = self._look()
            if (offsets != followed or not self._is_told()) and await self._move(offsets, moved):
                followed = offsets
            await asyncio.sleep(_LOOK_SECONDS)

    def _look(self) -> Offsets:
        try:
            found = read_offsets(self._file)
        except ClockFileError as error:
            if not self._complained:
                log.warning("time stays as it was: %s", error)
            self._complained = True
            return self._offsets
        self._complained = False
        return found

    def _is_told(self) -> bool:
        """Who sets the file removes this one, to be told anew."""
        try:
            return seen_file(self._file).exists()
        except OSError:
            return False  # and telling it again will say why

    async def _move(self, offsets: Offsets, moved: Callable[[], Awaitable[None]]) -> bool:
        self._offsets = offsets
        try:
            await moved()
            write_offsets(seen_file(self._file), offsets)
        except (StorageFaultError, OSError) as error:
            if str(error) != self._failure:
                log.warning("the new time is not followed yet: %s", error)
            self._failure = str(error)
            return False
        self._failure = ""
        return True
