"""Fixtures that start real parts of the local stack, once per test worker."""

from collections.abc import Iterator

import pytest

from devhost.azurite.install import AzuriteError
from devhost.stack import Stack
from tests.support.stacks import flow_stack
from tests.support.storage import Azurite, running_azurite


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    """A real Azurite; `.connection_string` works with the storage SDKs."""
    try:
        with running_azurite(tmp_path_factory.mktemp("azurite")) as running:
            yield running
    except AzuriteError as missing:
        pytest.fail(str(missing), pytrace=False)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The application on a real local stack with failpoints, its links breakable; shared by a worker's tests.

    Tests that kill or cut must leave it whole: every part ready, every link healed.
    """
    try:
        with flow_stack(tmp_path_factory.mktemp("stack"), proxied=True) as running:
            yield running
    except AzuriteError as missing:
        pytest.fail(str(missing), pytrace=False)
