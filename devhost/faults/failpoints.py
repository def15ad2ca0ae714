"""Failpoints by files: a test arms one by writing a file, the host's hook acts on it and consumes it.

Files in the folder, for a point `name`: `name` holds the action, `name.hits` how often execution came there
since, `name.held` says that execution stands there, `name.go` lets it go on. Renaming a file is how it is
consumed: each acts once, or as often as it says, across restarts too.
"""

import contextlib
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from shared.failpoints import Point

FOLDER_SETTING = "AFTERHOOK_FAILPOINTS_DIR"
_POLL_SECONDS = 0.01


class Action(StrEnum):
    """What happens at a point."""

    KILL = "kill"
    HOLD = "hold"
    SLEEP = "sleep"
    ERROR = "error"


class FailpointTimeoutError(TimeoutError):
    """Execution did not come to a point in time, or did not go on from it."""


class UnknownFailpointError(ValueError):
    """The application has no point of that name; the text lists those it has."""


@dataclass(frozen=True, slots=True)
class Arming:
    """What is armed at a point: the action, at which hit (1: the next), and the seconds of a sleep."""

    action: Action
    hit: int = 1
    seconds: float = 0.0
    times: int = 1
    """At how many hits in a row it acts; the last one consumes it."""
    token: str = ""
    """Tells this arming's hits from those of an earlier one."""

    def write(self) -> str:
        """The content of a point's file."""
        return f"{self.action} {self.hit} {self.seconds} {self.times} {self.token}"

    @classmethod
    def read(cls, content: str) -> "Arming":
        """The reverse; raises `ValueError` for anything else."""
        action, hit, seconds, times, token = content.split(" ")
        return cls(Action(action), int(hit), float(seconds), int(times), token)


@dataclass(frozen=True, slots=True)
class Failpoints:
    """The test's side: arms points in `folder` and waits for what happens there.

    `hit` counts from the arming on, over restarts of the process; 1 is the next execution that comes there.
    """

    folder: Path

    @property
    def points(self) -> tuple[str, ...]:
        """The names of all points the application has."""
        return tuple(point.value for point in Point)

    @property
    def armed(self) -> Mapping[str, Arming]:
        """What is armed and was not consumed yet."""
        found: dict[str, Arming] = {}
        for name in self.points:
            with contextlib.suppress(FileNotFoundError):
                found[name] = Arming.read((self.folder / name).read_text())
        return found

    def kill(self, point: str, hit: int = 1) -> None:
        """SIGKILL the process."""
        self._arm(point, Arming(Action.KILL, hit))

    def hold(self, point: str, hit: int = 1) -> None:
        """Stop the execution until `release`."""
        for ending in (".held", ".go"):
            self._file(point, ending).unlink(missing_ok=True)
        self._arm(point, Arming(Action.HOLD, hit))

    def sleep(self, point: str, seconds: float, hit: int = 1) -> None:
        """Delay the execution."""
        self._arm(point, Arming(Action.SLEEP, hit, seconds))

    def error(self, point: str, hit: int = 1, times: int = 1) -> None:
        """Raise `OSError` in the execution, and in those that come there next if `times` says so."""
        self._arm(point, Arming(Action.ERROR, hit, times=times))

    def disarm(self, point: str) -> None:
        """Take back what was armed and not yet reached."""
        self._file(point).unlink(missing_ok=True)

    def clear(self) -> None:
        """Disarm every point, and let whatever is held go on."""
        for point in self.points:
            self.disarm(point)
            if self._file(point, ".held").exists():
                self.release(point)

    def hits(self, point: str) -> int:
        """How often execution came to `point` while it was armed, the last time it was."""
        try:
            return int(self._file(point, ".hits").read_text().split(" ")[1])
        except FileNotFoundError:
            return 0

    def fired(self, point: str) -> bool:
        """Whether what was armed at `point` has been consumed."""
        return not self._file(point).exists()

    def release(self, point: str) -> None:
        """Let the execution held at `point` go on."""
        self._file(point, ".go").touch()

    def wait_held(self, point: str, timeout: float = 90) -> None:
        """Wait until an execution stands at `point`."""
        self._wait(lambda: self._file(point, ".held").exists(), f"nothing was held at {point}", timeout)

    def wait_fired(self, point: str, timeout: float = 90) -> None:
        """Wait until what was armed at `point` has been consumed."""
        self._wait(lambda: self.fired(point), f"nothing came to {point}", timeout)

    def _arm(self, point: str, arming: Arming) -> None:
        if arming.hit < 1:
            raise ValueError(f"hit must be 1 (the next execution) or more, found {arming.hit}")
        if arming.times < 1:
            raise ValueError(f"times must be 1 or more, found {arming.times}")
        file, token = self._file(point), secrets.token_hex(8)
        _replace(self._file(point, ".hits"), f"{token} 0")
        _replace(file, replace(arming, token=token).write())

    def _file(self, point: str, ending: str = "") -> Path:
        if point not in self.points:
            raise UnknownFailpointError(
                f"there is no failpoint {str(point)!r}; there are: {', '.join(self.points)}"
            )
        return self.folder / f"{point}{ending}"

    @staticmethod
    def _wait(done: Callable[[], bool], what: str, timeout: float) -> None:
        until = time.monotonic() + timeout
        while not done():
            if time.monotonic() > until:
                raise FailpointTimeoutError(f"{what} within {timeout:g} s")
            time.sleep(_POLL_SECONDS)


def _replace(file: Path, content: str) -> None:
    draft = file.with_name(f"{file.name}.draft")
    draft.write_text(content)
    draft.replace(file)
