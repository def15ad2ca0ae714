"""The clients of storage and the bus: one each, made at its first use and kept."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies

from azure.data.tables.aio import TableClient, TableServiceClient
from azure.servicebus.aio import ServiceBusClient
from azure.storage.blob.aio import BlobServiceClient

from shared.adapters.addresses import BusAddress, Identity, StorageAddress, bus_address, storage_address
from shared.adapters.guard import CONNECT_SECONDS, READ_SECONDS, StorageGuard
from shared.errors import ConfigurationError

if TYPE_CHECKING:
    from azure.core.credentials_async import AsyncTokenCredential

_CLOSE_SECONDS = 5.0
_MIB = 1024 * 1024
_HTTP: Mapping[str, Any] = {
    "connection_timeout": CONNECT_SECONDS,
    "read_timeout": READ_SECONDS,
    "retry_total": 0,  # the guard repeats calls
}
_BLOBS: Mapping[str, Any] = {
    **_HTTP,
    "max_single_put_size": _MIB,  # larger bodies would hold up the event loop, as aiohttp warns
    "max_block_size": _MIB,
    "max_single_get_size": 4 * _MIB,
}
_BUS: Mapping[str, Any] = {"retry_total": 0}


class Connections:
    """Every client belongs to the event loop that first uses it."""

    def __init__(self, storage: StorageAddress, bus: BusAddress) -> None:
        self._storage = storage
        self._bus = bus
        self._tables: TableServiceClient | None = None
        self._table: dict[str, TableClient] = {}
        self._blobs: BlobServiceClient | None = None
        self._service_bus: ServiceBusClient | None = None
        self._credentials: dict[Identity, AsyncTokenCredential] = {}
        self._closers: list[Callable[[], Awaitable[None]]] = []
        self.table_guard = StorageGuard("table")
        self.blob_guard = StorageGuard("blob")
        logging.getLogger("azure").setLevel(logging.WARNING)  # its INFO lines hold addresses and names

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> "Connections":
        """From the app's settings. Raises ConfigurationError with every problem."""
        problems: list[str] = []
        storage, bus = StorageAddress(), BusAddress()
        try:
            storage = storage_address(environ)
        except ConfigurationError as error:
            problems.append(str(error))
        try:
            bus = bus_address(environ)
        except ConfigurationError as error:
            problems.append(str(error))
        if problems:
            raise ConfigurationError("\n".join(problems))
        return cls(storage, bus)

    def tables(self) -> TableServiceClient:
        if self._tables is None:
            address, options = self._storage, {**_HTTP, **_proxy()}
            if address.connection_string is not None:
                client = TableServiceClient.from_connection_string(address.connection_string, **options)
            else:
                credential = self._credential(address.identity)
                client = TableServiceClient(address.table_uri or "", credential=credential, **options)
            self._tables = client
            self._closers.append(client.close)
        return self._tables

    def table(self, name: str) -> TableClient:
        """Kept too: making one takes as long as a tenth of a call."""
        if name not in self._table:
            self._table[name] = self.tables().get_table_client(name)
        return self._table[name]

    def blobs(self) -> BlobServiceClient:
        if self._blobs is None:
            address, options = self._storage, {**_BLOBS, **_proxy()}
            if address.connection_string is not None:
                client = BlobServiceClient.from_connection_string(address.connection_string, **options)
            else:
                credential = self._credential(address.identity)
                client = BlobServiceClient(address.blob_uri or "", credential, **options)
            self._blobs = client
            self._closers.append(client.close)
        return self._blobs

    def service_bus(self) -> ServiceBusClient:
        if self._service_bus is None:
            address = self._bus
            if address.connection_string is not None:
                client = ServiceBusClient.from_connection_string(address.connection_string, **_BUS)
            else:
                credential = self._credential(address.identity)
                client = ServiceBusClient(address.namespace or "", credential, **_BUS)
            self._service_bus = client
            self._closers.append(client.close)
        return self._service_bus

    async def aclose(self) -> None:
        """Close every client that was made; bounded."""
        closers, self._closers = self._closers[::-1], []
        self._tables = self._blobs = self._service_bus = None
        self._table = {}
        self._credentials = {}
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await asyncio.gather(*(close() for close in closers), return_exceptions=True)

    def _credential(self, identity: Identity | None) -> "AsyncTokenCredential":
        # Imported here: it takes a third of a second, and connection strings do without it.
        from azure.identity.aio import DefaultAzureCredential, ManagedIdentityCredential

        identity = identity or Identity(client_id=None, managed=False)
        if identity not in self._credentials:
            made = (
                ManagedIdentityCredential(client_id=identity.client_id)
                if identity.managed
                else DefaultAzureCredential()
            )
            self._credentials[identity] = made
            self._closers.append(made.close)
        return self._credentials[identity]


def _proxy() -> Mapping[str, Any]:
    """Heed the system's settings only where they name a proxy.

    With them aiohttp looks for one, and into .netrc, before every request and in threads, which makes a call
    to the tables half as expensive again.
    """
    return {"use_env_settings": bool(getproxies())}
