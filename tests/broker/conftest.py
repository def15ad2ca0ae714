"""One real broker for each test module, and its scenarios running on it at once."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator

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
    functions = [item.function for item in request.session.items if isinstance(item, pytest.Function)]
    mine = [f for f in functions if f.__module__ == request.module.__name__ and hasattr(f, "scenario")]
    running = Together(broker, [f.scenario for f in mine])
    try:
        yield running
    finally:
        running.close()
