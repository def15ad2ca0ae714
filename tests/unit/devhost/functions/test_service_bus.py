"""The queue listener on links that fail."""

import asyncio
import logging
from datetime import timedelta

import azure.functions as func
import pytest

from devhost.functions import service_bus
from devhost.functions.hostjson import ServiceBusOptions
from devhost.functions.invocation import Invoker
from devhost.functions.service_bus import QueueListener
from devhost.functions.settings import AppSettings
from tests.support.own_worker import knowing

BUS = "Endpoint=sb://127.0.0.1:1;SharedAccessKeyName=a;SharedAccessKey=b;UseDevelopmentEmulator=true;"


class _Link:
    """Every receive fails in a way that nobody foresaw."""

    broken = False

    async def receive(self) -> None:
        raise KeyError("surprise")


class _Pool:
    """Notes what becomes of its links."""

    def __init__(self) -> None:
        self.taken = self.discarded = 0

    async def take(self) -> _Link:
        self.taken += 1
        return _Link()

    def discard(self, link: _Link) -> None:
        self.discarded += 1

    async def close(self) -> None:
        assert self.taken == self.discarded


async def test_a_failure_that_nobody_foresaw_is_logged_and_costs_a_link_not_the_listener(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    pool = _Pool()
    monkeypatch.setattr(service_bus, "LinkPool", lambda *_: pool)
    monkeypatch.setattr(service_bus, "_BACKOFF_SECONDS", (0.0,))

    def work(msg: func.ServiceBusMessage) -> None: ...

    binding = {"type": "serviceBusTrigger", "name": "msg", "queueName": "work", "connection": "Bus"}
    worker, function = knowing(work, binding, name="work", converter="serviceBusTrigger")
    options = ServiceBusOptions(1, auto_complete=True, max_auto_lock_renewal=timedelta(0))
    listener = QueueListener(function, AppSettings({"Bus": BUS}), options, Invoker(None, worker))
    await listener.start()
    async with asyncio.timeout(60):
        while pool.discarded < 3:  # noqa: ASYNC110  the pool is a stand-in without events
            await asyncio.sleep(0.01)
        listener.stop()
        await listener.drain()
    await listener.close()
    assert "event=queue_away function=work queue=work error=KeyError" in caplog.text
