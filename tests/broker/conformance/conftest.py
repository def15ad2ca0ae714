"""One broker for all behaviours of a test worker: each takes queues of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.broker.process import BrokerProcess, running_broker


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker process on a free port, with many queues of each kind."""
    with running_broker(tmp_path_factory.mktemp("broker")) as running:
        yield running
