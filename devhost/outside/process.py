"""The outside world for tests and the demo, as a process of its own. Methods block."""

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from devhost import paths
from devhost.guardian import Guardian
from devhost.outside.remote import Remote
from devhost.parts import PartError, PartSpec, Run
from devhost.ports import LOOPBACK, free_ports

_START_SECONDS = 90.0
_END_SECONDS = 10.0
_TRIED_PORTS = 3
_PORT_TAKEN = "cannot listen"


class Outside(Remote):
    """A context manager. What happened is counted in its own process, which kills of an app spare."""

    def __init__(self, *, state: Path | None = None, log: Path | None = None) -> None:
        """With `state`, a file, what happened outlives a restart of the outside too."""
        super().__init__("")
        self._state = state
        self._log = log
        self._port = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._guardian: Guardian | None = None
        self._run: Run | None = None

    def __enter__(self) -> Self:
        """Start it."""
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self.stop()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._running().pid

    def start(self) -> None:
        """Start, on the port it had before, and wait until it is ready. Raises PartError."""
        self._folder = self._folder or tempfile.TemporaryDirectory(prefix="outside-")
        self._guardian = self._guardian or Guardian()
        ports = [self._port] if self._port else free_ports(_TRIED_PORTS)
        for port in ports:
            run = Run(self._spec(port, Path(self._folder.name)), self._guardian)
            if run.wait_ready(_START_SECONDS):
                self._run, self._port, self._url = run, port, f"http://{LOOPBACK}:{port}"
                return
            run.terminate(_END_SECONDS)
            if port == ports[-1] or _PORT_TAKEN not in run.last_lines():
                raise PartError(f"The outside did not start. Its last lines:\n{run.last_lines()}")

    def stop(self) -> None:
        """SIGTERM, and leave nothing behind. Safe to call twice."""
        try:
            self.end()
        finally:
            if self._guardian is not None:
                self._guardian.close()
                self._guardian = None
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None

    def end(self) -> bool:
        """SIGTERM; `start` brings it back. False if it had to be killed."""
        run, self._run = self._run, None
        return run is None or run.terminate(_END_SECONDS)

    def kill(self) -> None:
        """SIGKILL; `start` brings it back."""
        self._running().kill()
        self._run = None

    def _spec(self, port: int, folder: Path) -> PartSpec:
        state = [] if self._state is None else ["--state", str(self._state)]
        return PartSpec(
            name="outside",
            command=[sys.executable, "-m", "devhost.outside", "--port", str(port), *state],
            read_ready=_read_ready,
            log=self._log or folder / "outside.log",
            cwd=paths.ROOT,
        )

    def _running(self) -> Run:
        if self._run is None or self._run.exited:
            raise PartError("The outside is not running.")
        return self._run


def _read_ready(line: str) -> Mapping[str, Any] | None:
    ready: dict[str, Any] = json.loads(line)
    return ready
