"""The outside's state, and the outside as a process."""

from collections.abc import Iterator

import pytest

from devhost.outside import Outside
from tests.unit.devhost.outside.calls import Caller


@pytest.fixture
def caller() -> Caller:
    """A world that keeps nothing."""
    return Caller()


@pytest.fixture(scope="session")
def shared_outside() -> Iterator[Outside]:
    """One process for all tests of a worker."""
    with Outside() as running:
        yield running


@pytest.fixture
def outside(shared_outside: Outside) -> Outside:
    """An outside where nothing has happened."""
    shared_outside.reset()
    return shared_outside
