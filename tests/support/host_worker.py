"""Which worker the local hosts of a test run have; `pytest --worker=library` gives them all Azure's.

A test of a usual run that needs Azure's where there is no Python 3.13 is skipped with that reason.
"""

import sys
from functools import cache
from pathlib import Path

import pytest

from devhost.functions.worker.choice import WorkerKind
from tests.support.worker_index import environment

_MISSING = "Azure's worker library needs Python 3.13: none on PATH as python3.13 nor under pyenv"
_chosen = [WorkerKind.OWN]


def choose(worker: WorkerKind) -> None:
    """The worker of this run. Raises pytest.UsageError where Azure's cannot be had."""
    _chosen[:] = [worker]
    if worker is WorkerKind.LIBRARY:
        try:
            if _find_or_make() is None:
                raise pytest.UsageError(_MISSING)
        except environment.WorkerSetupError as failure:
            raise pytest.UsageError(str(failure)) from None


def chosen() -> WorkerKind:
    """The worker of this run."""
    return _chosen[0]


def both() -> list[object]:
    """Parameters for a fixture whose tests run under both workers; only under Azure's if that is chosen.

    The first test under Azure's waits until its environment is made.
    """
    patience = pytest.mark.timeout(environment.SETUP_SECONDS + 120)
    library = pytest.param(WorkerKind.LIBRARY, id="library", marks=patience)
    return [library] if chosen() is WorkerKind.LIBRARY else [pytest.param(WorkerKind.OWN, id="own"), library]


def python_for(worker: WorkerKind | None = None) -> Path | None:
    """The Python with Azure's library; None if the worker (the run's unless given) is the host's own."""
    return library_python() if (worker or chosen()) is WorkerKind.LIBRARY else None


def command(worker: WorkerKind | None = None) -> list[str]:
    """How to start a host with this worker (the run's unless given)."""
    python = python_for(worker)
    module = ["-m", "devhost.functions"]
    return [sys.executable, *module] if python is None else [str(python), *module, "--worker", "library"]


def library_python() -> Path:
    """A Python 3.13 with Azure's worker library, made first if need be."""
    try:
        found = _find_or_make()
    except environment.WorkerSetupError as failure:
        pytest.fail(str(failure), pytrace=False)
    if found is None:
        pytest.skip(_MISSING)
    return found


@cache
def _find_or_make() -> Path | None:
    base = environment.find_python()
    return None if base is None else environment.prepare(base)
