"""An engine on a fresh folder, under a clock that stands until it is moved."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devhost.servicebus.engine import Engine
from devhost.servicebus.model import QueuePolicy, QueueRef
from tests.unit.devhost.servicebus.support import DEAD, QUEUE, Clock

POLICIES = [
    QueuePolicy("Jobs", lock_seconds=60, max_delivery_count=3, dead_letter_on_expiration=True),
    QueuePolicy("dropping", lock_seconds=60, max_delivery_count=3, default_ttl_ms=10_000),
    QueuePolicy("once", duplicate_window_seconds=100),
]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def engine(tmp_path: Path, clock: Clock) -> AsyncIterator[Engine]:
    engine = Engine(POLICIES, tmp_path, clock=clock)
    await engine.start()
    yield engine
    await engine.stop()


@pytest.fixture
def queue() -> QueueRef:
    return QUEUE


@pytest.fixture
def dead() -> QueueRef:
    return DEAD
