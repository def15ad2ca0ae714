"""The real stores at an address of ours: behind a relay, where nothing answers, with a wrong key."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from shared.adapters.addresses import BusAddress, StorageAddress
from shared.adapters.connections import Connections
from tests.contract.stores import Stores, real_stores
from tests.support.records import a_case, a_job
from tests.support.storage import Azurite


def address_of(azurite: Azurite, **ports: int) -> StorageAddress:
    """Azurite's connection string with other ports for its services (`blob`, `table`)."""
    text = azurite.connection_string
    for service, port in ports.items():
        text = text.replace(f":{port_of(azurite, service)}/", f":{port}/")
    return StorageAddress(connection_string=text)


def port_of(azurite: Azurite, service: str) -> int:
    pairs = dict(part.split("=", 1) for part in azurite.connection_string.split(";") if part)
    port = urlsplit(pairs[f"{service.capitalize()}Endpoint"]).port
    assert port is not None
    return port


@asynccontextmanager
async def stores_at(address: StorageAddress, prefix: str) -> AsyncIterator[Stores]:
    connections = Connections(address, BusAddress())
    try:
        yield real_stores(connections, prefix)
    finally:
        await connections.aclose()


async def warm(stores: Stores) -> None:
    """Make the tables, so that the next answer is the one of the call under test."""
    await stores.jobs.insert(a_job("job_warm"), [])
    await stores.open.put("job_warm", 0)
    await stores.cases.file(a_case("job_warm"))
    await stores.groups.add(a_case("job_warm", fingerprint="warm"))
