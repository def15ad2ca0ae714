"""A target, a proxy before it, and one connection between them."""

from collections.abc import Iterator

import pytest

from devhost.faults.proxy import Proxy
from tests.unit.devhost.faults.connections import Pair, Target


@pytest.fixture
def target() -> Iterator[Target]:
    made = Target()
    yield made
    made.close()


@pytest.fixture
def proxy(target: Target) -> Iterator[Proxy]:
    with Proxy(target.port) as made:
        yield made


@pytest.fixture
def pair(proxy: Proxy, target: Target) -> Pair:
    return Pair(proxy, target)
