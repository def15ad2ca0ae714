"""The unmodified SDK behind one face: its aio client as it is, or its blocking client in threads."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self, cast

from azure import servicebus
from azure.servicebus import aio

from tests.broker.conformance.desk import Desk, both_open
from tests.broker.conformance.threads import InThreads, unwrapped
from tests.broker.process import BrokerProcess

_OPTIONS = {"try_timeout": 20, "ssl_context": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)}
"""A blocking call without a limit could not be given up; without a context the aio SDK reads all root
certificates for each sender and receiver, though TLS is off."""

Lost = Callable[[Any, BaseException | None], None]


class Sdk(StrEnum):
    """The two faces of the package azure-servicebus."""

    AIO = "aio"
    SYNC = "sync"


@dataclass(frozen=True)
class Service:
    """A broker, and the SDK to use it with."""

    broker: BrokerProcess
    sdk: Sdk
    options: Mapping[str, Any] = field(default_factory=dict)
    """For every client."""

    def queue(self, kind: str = "plain") -> str:
        """The name of a fresh queue."""
        return self.broker.queue(kind)

    def client(self, **options: Any) -> aio.ServiceBusClient:
        """A client by connection string. Every call is awaited, whichever SDK does it."""
        given = {"conn_str": self.broker.connection_string, **_OPTIONS, **self.options, **options}
        if self.sdk is Sdk.AIO:
            return aio.ServiceBusClient.from_connection_string(**given)
        return cast(
            "aio.ServiceBusClient", InThreads(servicebus.ServiceBusClient.from_connection_string(**given))
        )

    def client_with(self, credential: Any, **options: Any) -> aio.ServiceBusClient:
        """A client by host and credential: one of the SDK's, or an object whose `token()` gives tokens."""
        host = f"127.0.0.1:{self.broker.port}"
        given = {"use_tls": False, **_OPTIONS, **options}
        ready = not hasattr(credential, "token")
        if self.sdk is Sdk.AIO:
            asynchronous = credential if ready else _AioCredential(credential)
            return aio.ServiceBusClient(host, asynchronous, **given)
        blocking = servicebus.ServiceBusClient(
            host, credential if ready else _Credential(credential), **given
        )
        return cast("aio.ServiceBusClient", InThreads(blocking))

    def renewer(self, *, on_lost: Lost | None = None, **options: Any) -> aio.AutoLockRenewer:
        """A lock renewer with its default workers."""
        if self.sdk is Sdk.SYNC:
            blocking = servicebus.AutoLockRenewer(on_lock_renew_failure=on_lost, **options)
            return cast("aio.AutoLockRenewer", InThreads(blocking))
        if on_lost is None:
            return aio.AutoLockRenewer(**options)

        async def lost(message: Any, error: BaseException | None) -> None:
            on_lost(message, error)

        return aio.AutoLockRenewer(on_lock_renew_failure=lost, **options)

    @asynccontextmanager
    async def desk(self, kind: str = "plain", *, queue: str = "", **options: Any) -> AsyncIterator[Desk]:
        """A desk on a fresh queue, or on the one named; the options are those of its receiver."""
        queue = queue or self.queue(kind)
        async with self.client() as client:
            sender, receiver = client.get_queue_sender(queue), client.get_queue_receiver(queue, **options)
            async with both_open(sender, receiver):
                yield Desk(client, queue, sender, receiver)

    @asynccontextmanager
    async def receiver(self, queue: str, **options: Any) -> AsyncIterator[Desk]:
        """A desk that only receives."""
        async with self.client() as client, client.get_queue_receiver(queue, **options) as receiver:
            yield Desk(client, queue, client.get_queue_sender(queue), receiver)

    def connection(self, handler: Any) -> object:
        """What a sender or receiver is connected by."""
        return unwrapped(handler)._handler._connection

    async def break_link(self, handler: Any) -> None:
        """Detach the link of a sender or receiver behind its back."""
        link = unwrapped(handler)._handler._link
        if self.sdk is Sdk.AIO:
            await link.detach()
        else:
            link.detach()

    async def break_connection(self, handler: Any) -> None:
        """Cut the connection of a sender or receiver, without a word on either side."""
        transport = unwrapped(handler)._handler._connection._transport
        if self.sdk is Sdk.AIO:
            transport.writer.transport.abort()
        else:
            transport.sock.shutdown(socket.SHUT_RDWR)


@dataclass
class _Credential:
    source: Any

    @property
    def token_type(self) -> Any:
        """The SDK asks such a credential for tokens by entity; others by the service's scope."""
        return self.source.token_type

    def get_token(self, *scopes: str, **_options: Any) -> Any:
        return self.source.token(*scopes)


@dataclass
class _AioCredential:
    source: Any

    @property
    def token_type(self) -> Any:
        """As above."""
        return self.source.token_type

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_raised: object) -> None:
        """Nothing is held."""

    async def get_token(self, *scopes: str, **_options: Any) -> Any:
        return self.source.token(*scopes)

    async def close(self) -> None:
        """Nothing is held."""
