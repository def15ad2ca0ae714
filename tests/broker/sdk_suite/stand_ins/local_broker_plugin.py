"""A plugin of pytest: the SDK's clients speak to the local broker, over TCP without TLS.

A test that goes through web sockets as well does so over TCP again, so that the rest of it counts.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest
from azure.servicebus import ServiceBusClient, TransportType
from azure.servicebus.aio import ServiceBusClient as AsyncServiceBusClient


def pytest_configure(config: pytest.Config) -> None:
    """The tests give a name and a credential, which leaves no other place to say it."""
    for marker in ("liveTest", "live_test_only", "playback_test_only"):
        config.addinivalue_line("markers", f"{marker}: one of the SDK's own")
    for client in (ServiceBusClient, AsyncServiceBusClient):
        _without_tls(client)


def _without_tls(client: Any) -> None:
    original = client.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("transport_type") is TransportType.AmqpOverWebsocket:
            del kwargs["transport_type"]
        original(self, *args, **{"use_tls": False, **kwargs})

    client.__init__ = init
