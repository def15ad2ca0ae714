"""One real broker for each test module, and its scenarios running on it at once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from tests.broker.process import BrokerProcess, running_broker
from tests.broker.together import Together, blocking_calls
from tests.support.sdk_leaks import end_keep_alives, sockets_may_leak


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker process on a free port, with many small queues."""
    with running_broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture(autouse=True, scope="module")
def nothing_left() -> Iterator[None]:
    """What a module's tests left of the SDK ends with the module, after all else in it."""
    yield
    with sockets_may_leak():
        end_keep_alives()


@pytest.fixture(autouse=True)
def sdk_leaks() -> Iterator[None]:
    """What a test left is collected before the next one, which would fail by it."""
    with sockets_may_leak():
        yield


@pytest.fixture(scope="module")
def threads() -> Iterator[ThreadPoolExecutor]:
    """What blocking calls run in: set up before the broker, so that it ends after it."""
    with blocking_calls() as pool:
        yield pool


@pytest.fixture(scope="module")
def together(
    threads: ThreadPoolExecutor, broker: BrokerProcess, request: pytest.FixtureRequest
) -> Iterator[Together]:
    """Every selected scenario of the module, started."""
    mine = [item for item in request.session.items if isinstance(item, pytest.Function)
            and item.module is request.module and hasattr(item.function, "scenario")]  # fmt: skip
    running = Together({item.nodeid: partial(item.function.start, broker, item) for item in mine}, threads)
    try:
        yield running
    finally:
        running.close()
