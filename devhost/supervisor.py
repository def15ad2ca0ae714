"""Keeps one part of the local stack running, as the platform would: a part that dies is started again."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from devhost.guardian import Guardian
from devhost.parts import PartError, PartSpec, Run
from devhost.system import SYSTEM

Report = Callable[[str], None]

STEADY_SECONDS = 2.0
"""A life that ends sooner after its start counts as one of a series of quick deaths."""
_READY_AGAIN_SECONDS = 90.0
_BACKOFF_SECONDS = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0)


def restart_delay(quick_deaths: int) -> float:
    """Seconds to wait before the next start: none after one death, longer in a series of quick ones."""
    return _BACKOFF_SECONDS[min(max(quick_deaths - 1, 0), len(_BACKOFF_SECONDS) - 1)]


def describe_exit(code: int | None) -> str:
    """How a process ended, in words."""
    return "has not ended" if code is None else SYSTEM.describe_exit(code)


def called(name: str) -> str:
    """A part's name at the start of a sentence."""
    return "Azurite" if name == "azurite" else f"The {name}"


class Supervised:
    """A part and its successive lives. Its methods may be called from any thread."""

    def __init__(self, spec: PartSpec, guardian: Guardian, report: Report) -> None:
        """Nothing is started yet."""
        self.spec = spec
        self.lives = 0
        self._guardian = guardian
        self._report = report
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._wanted = False
        self._quick_deaths = 0
        self._run: Run | None = None
        self._mourned: Run | None = None

    @property
    def pid(self) -> int:
        """The process id of the life that is running now."""
        return self._running().pid

    @property
    def is_ready(self) -> bool:
        """Whether it runs and has said it is ready."""
        run = self._run
        return run is not None and run.is_ready

    def start(self, timeout: float) -> Mapping[str, Any]:
        """Start, wait until ready, and from then on bring it back when it dies; what it said when ready.

        Raises `PartError` with its last lines if this life ends or is not ready within `timeout` seconds.
        """
        with self._lock:
            run = None if self._wanted else self._begin_anew()
        if run is None:
            return self.wait_ready(timeout)
        if not run.wait_ready(timeout):
            what = describe_exit(run.exit_code) if run.exited else f"was not ready after {timeout:.0f} s"
            run.terminate(grace=5)
            raise PartError(
                f"{called(self.spec.name)} {what}. Its last lines ({self.spec.log}):\n{run.last_lines()}"
            )
        with self._lock:
            self._wanted = True
        if run.exited:
            self._on_exit(run)
        return run.ready_info

    def wait_ready(self, timeout: float) -> Mapping[str, Any]:
        """Wait until some life is ready, through restarts; what it said when ready.

        Raises `PartError` after `timeout` seconds.
        """
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            run = self._run
            if run is not None and run.wait_ready(0.05):
                return run.ready_info
            time.sleep(0.01)
        tail = self._run.last_lines() if self._run else ""
        raise PartError(
            f"{called(self.spec.name)} was not ready within {timeout:.0f} s. Its last lines:\n{tail}"
        )

    def stop(self, grace: float) -> None:
        """Ask it to end, and kill it after `grace` seconds; it stays down until `start`."""
        with self._lock:
            self._wanted = False
            self._wake.set()
            run = self._run
        if run is not None and not run.terminate(grace):
            self._report(
                f"{called(self.spec.name)} did not end within {grace:.0f} s of being asked to; it was killed."
            )

    def kill(self, *, restart: bool) -> None:
        """End the process at once. With `restart` the supervisor brings it back, else it stays down."""
        with self._lock:
            if not restart:
                self._wanted = False
                self._wake.set()
            run = self._run
        if run is not None:
            run.kill()

    def freeze(self) -> None:
        """Freeze the process that runs now: it keeps its connections and answers nothing."""
        self._running().freeze()

    def thaw(self) -> None:
        """Let the frozen process go on."""
        self._running().thaw()

    def _running(self) -> Run:
        run = self._run
        if run is None or run.exited:
            raise PartError(f"{called(self.spec.name)} is not running")
        return run

    def _begin_anew(self) -> Run:
        self._wake.clear()
        self._quick_deaths = 0
        return self._begin()

    def _begin(self) -> Run:
        self.lives += 1
        self._run = Run(self.spec, self._guardian, self._on_exit)
        return self._run

    def _on_exit(self, run: Run) -> None:
        with self._lock:
            if not self._is_wanted(run) or run is self._mourned:
                return
            self._mourned = run
            self._quick_deaths = self._quick_deaths + 1 if _died_quickly(run) else 0
            delay = restart_delay(self._quick_deaths)
            died_at = time.monotonic()
        self._report(_obituary(run, delay, show_log=self._quick_deaths > 0))
        self._wake.wait(delay)
        with self._lock:
            if not self._is_wanted(run):
                return
            new = self._begin()
        threading.Thread(target=self._say_ready, args=(new, died_at), daemon=True).start()

    def _say_ready(self, run: Run, died_at: float) -> None:
        if run.wait_ready(_READY_AGAIN_SECONDS) and self._is_wanted(run):
            seconds = time.monotonic() - died_at
            self._report(f"{called(self.spec.name)} is ready again after {seconds:.1f} s.")

    def _is_wanted(self, run: Run) -> bool:
        return self._wanted and run is self._run


def _died_quickly(run: Run) -> bool:
    if not run.was_ready:
        return True
    was_killed = run.exit_code is not None and SYSTEM.was_killed(run.exit_code)
    return not was_killed and time.monotonic() - run.started_at < STEADY_SECONDS


def _obituary(run: Run, delay: float, *, show_log: bool) -> str:
    when = f"in {delay:g} s" if delay else "now"
    who = f"{called(run.spec.name)} (process {run.pid})"
    text = f"{who} {describe_exit(run.exit_code)}; starting it again {when}."
    return f"{text} Its last lines:\n{run.last_lines()}" if show_log else text
