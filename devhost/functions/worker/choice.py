"""Which worker a host runs."""

from enum import StrEnum
from typing import assert_never

from devhost.functions.worker.protocol import Worker


class WorkerKind(StrEnum):
    """OWN runs on every Python; LIBRARY is `azure-functions-runtime`, which Azure uses from 3.13 on."""

    OWN = "own"
    LIBRARY = "library"


def make_worker(kind: WorkerKind) -> Worker:
    """Raises StartError where the library is missing. Reads the app settings from the environment."""
    match kind:
        case WorkerKind.OWN:
            from devhost.functions.worker.own import OwnWorker

            return OwnWorker()
        case WorkerKind.LIBRARY:
            from devhost.functions.worker.library import LibraryWorker

            return LibraryWorker()
    assert_never(kind)
