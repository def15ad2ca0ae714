"""Fixtures that start real parts of the local stack, once per test worker."""

from collections.abc import Iterator

import pytest

from devhost.azurite.install import AzuriteError
from tests.support.storage import Azurite, running_azurite


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    """A real Azurite; `.connection_string` works with the storage SDKs."""
    try:
        with running_azurite(tmp_path_factory.mktemp("azurite")) as running:
            yield running
    except AzuriteError as missing:
        pytest.fail(str(missing), pytrace=False)
