"""Fixtures that start real parts of the local stack, once per test worker."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from devhost import ports
from devhost.azurite.install import AzuriteError
from devhost.functions.worker.choice import WorkerKind
from devhost.parts import Run
from tests.support import host_worker
from tests.support.forking import process as forking
from tests.support.storage import Azurite, running_azurite

# Slowness is the busy machine's.
settings.register_profile(
    "usual", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("usual"), max_examples=1000)
settings.load_profile("usual")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--worker",
        type=WorkerKind,
        choices=list(WorkerKind),
        default=WorkerKind.OWN,
        help="what indexes and invokes in the local host: its own worker, or Azure's library on Python 3.13",
    )

    parser.addoption(
        "--no-forking",
        action="store_true",
        help="start every process of the local stack from scratch, not as a fork of one that has imported it",
    )


_RANGES = 8
"""Of ports, one for each test worker, so that a part that is down for a moment finds its port again."""


def pytest_configure(config: pytest.Config) -> None:
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        lowest = 20_000 + 1_500 * (int(worker.removeprefix("gw")) % _RANGES)
        os.environ[ports.RANGE_VARIABLE] = f"{lowest}-{lowest + 1_499}"
    host_worker.choose(config.getoption("--worker"))
    if config.getoption("--no-forking"):
        forking.forbid()
    Run.popen = staticmethod(forking.popen)


def pytest_unconfigure() -> None:
    forking.close_all()


SLOWEST_FIRST = ("flows", "host", "broker", "unit/devhost", "contract")
"""Folders whose modules wait for real processes: started first, no worker ends long after the others."""
PATIENT_TIMEOUT = pytest.mark.timeout(900)
"""For all of them: a busy machine may have them wait for several things in turn, each with its own bound."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the modules by how long they take; within a folder the (random) order stays as it is."""
    items.sort(key=_turn)
    for item in items:
        if _turn(item) < len(SLOWEST_FIRST) and item.get_closest_marker("timeout") is None:
            item.add_marker(PATIENT_TIMEOUT)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Keep the thousands of collected tests, and all that was imported for them, out of every collection."""
    gc.collect()
    gc.freeze()


def _turn(item: pytest.Item) -> int:
    folder = item.path.relative_to(Path(__file__).parent).as_posix()
    found = (number for number, name in enumerate(SLOWEST_FIRST) if folder.startswith(name))
    return next(found, len(SLOWEST_FIRST))


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    """A real Azurite; `.connection_string` works with the storage SDKs."""
    try:
        with running_azurite(tmp_path_factory.mktemp("azurite")) as running:
            yield running
    except AzuriteError as missing:
        pytest.fail(str(missing), pytrace=False)
