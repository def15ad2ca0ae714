"""Failpoints by files: a test arms one by writing a file, the host's hook acts on it and consumes it.

Files in the folder, for a point `name`: `name` holds the action, `name.held` says that execution stands
there, `name.go` lets it go on. Renaming a file is how it is consumed: each acts once, across restarts too.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shared.failpoints import Point

FOLDER_SETTING = "AFTERHOOK_FAILPOINTS_DIR"
_POLL_SECONDS = 0.01


class FailpointTimeoutError(TimeoutError):
    """Execution did not come to a point in time, or did not go on from it."""


@dataclass(frozen=True, slots=True)
class Failpoints:
    """The test's side: arms points in `folder` and waits for what happens there."""

    folder: Path

    def kill(self, point: Point, hit: int = 1) -> None:
        """SIGKILL the process at the `hit`-th time it comes to `point` (1: the next time)."""
        self._arm(point, f"kill {hit}")

    def hold(self, point: Point) -> None:
        """Stop the next execution that comes to `point` until `release`."""
        for ending in (".held", ".go"):
            self._file(point, ending).unlink(missing_ok=True)
        self._arm(point, "hold")

    def sleep(self, point: Point, seconds: float) -> None:
        """Delay the next execution that comes to `point`."""
        self._arm(point, f"sleep {seconds}")

    def error(self, point: Point) -> None:
        """Raise `OSError` in the next execution that comes to `point`."""
        self._arm(point, "error")

    def disarm(self, point: Point) -> None:
        """Take back what was armed and not yet reached."""
        self._file(point).unlink(missing_ok=True)

    def fired(self, point: Point) -> bool:
        """Whether what was armed at `point` has been consumed."""
        return not self._file(point).exists()

    def release(self, point: Point) -> None:
        """Let the execution held at `point` go on."""
        self._file(point, ".go").touch()

    def wait_held(self, point: Point, timeout: float = 30) -> None:
        """Wait until an execution stands at `point`."""
        self._wait(lambda: self._file(point, ".held").exists(), f"nothing was held at {point}", timeout)

    def wait_fired(self, point: Point, timeout: float = 30) -> None:
        """Wait until what was armed at `point` has been consumed."""
        self._wait(lambda: self.fired(point), f"nothing came to {point}", timeout)

    def _arm(self, point: Point, action: str) -> None:
        file = self._file(Point(point))
        draft = file.with_name(f"{file.name}.draft")
        draft.write_text(action)
        draft.replace(file)

    def _file(self, point: Point, ending: str = "") -> Path:
        return self.folder / f"{point.value}{ending}"

    @staticmethod
    def _wait(done: Callable[[], bool], what: str, timeout: float) -> None:
        until = time.monotonic() + timeout
        while not done():
            if time.monotonic() > until:
                raise FailpointTimeoutError(f"{what} within {timeout:g} s")
            time.sleep(_POLL_SECONDS)
