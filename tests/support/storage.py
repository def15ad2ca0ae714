"""A real Azurite for tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devhost.azurite import emulator
from devhost.guardian import Guardian
from devhost.parts import PartError, Run
from devhost.paths import AZURITE_HOME

_START_SECONDS = 180
_STOP_SECONDS = 10
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Azurite:
    """A running storage emulator. Shared by the tests of a worker: use names of your own in it."""

    connection_string: str
    pid: int


@contextmanager
def running_azurite(folder: Path) -> Iterator[Azurite]:
    """Azurite on free ports with its data under `folder`, ended at the end."""
    guardian = Guardian()
    try:
        run, connection = _start(folder, guardian)
        try:
            yield Azurite(connection, run.pid)
        finally:
            run.terminate(_STOP_SECONDS)
    finally:
        guardian.close()


def _start(folder: Path, guardian: Guardian) -> tuple[Run, str]:
    trouble = ""
    for _ in range(_TRIES):  # another process may take a port between our look and Azurite's
        ports = emulator.free_storage_ports()
        run = Run(emulator.spec(AZURITE_HOME, folder / "data", ports, folder / "azurite.log"), guardian)
        if run.wait_ready(_START_SECONDS):
            return run, emulator.connection_string(ports.blob, ports.table)
        run.terminate(_STOP_SECONDS)
        trouble = run.last_lines()
        if "EADDRINUSE" not in trouble:
            break
    raise PartError(f"Azurite did not start:\n{trouble}")
