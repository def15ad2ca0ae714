"""One real broker for each test module, and its scenarios running on it at once."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from functools import partial

import pytest

from tests.broker.process import BrokerProcess, running_broker
from tests.broker.together import Together


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker process on a free port, with many small queues."""
    with running_broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture(autouse=True)
def sdk_leaks() -> Iterator[None]:
    """The SDK leaves the socket of a connection that broke unclosed: collect it where that is no failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()


@pytest.fixture(scope="module")
def together(broker: BrokerProcess, request: pytest.FixtureRequest) -> Iterator[Together]:
    """Every selected scenario of the module, started."""
    mine = [item for item in request.session.items if isinstance(item, pytest.Function)
            and item.module is request.module and hasattr(item.function, "scenario")]  # fmt: skip
    running = Together({item.nodeid: partial(item.function.start, broker, item) for item in mine})
    try:
        yield running
    finally:
        running.close()
        gc.collect()
