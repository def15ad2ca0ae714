"""A broker whose parts can be made to fail, and an SDK client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from azure.servicebus.aio import ServiceBusClient

from tests.unit.devhost.servicebus.served import Served, served


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as broker:
        yield broker


@pytest.fixture
async def sdk(broker: Served) -> AsyncIterator[ServiceBusClient]:
    async with ServiceBusClient.from_connection_string(
        broker.connection_string, retry_backoff_factor=0.1
    ) as client:
        yield client
