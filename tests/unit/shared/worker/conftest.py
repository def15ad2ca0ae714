"""A worker to try things on."""

import pytest

from tests.unit.shared.worker.bench import Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()
