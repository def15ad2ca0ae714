"""Each contract test runs against the fake and against the real adapter on a real Azurite or broker."""

import uuid
from collections.abc import AsyncIterator

import pytest

from shared.adapters import key_sets as adapters
from shared.adapters.addresses import BusAddress, StorageAddress
from shared.adapters.connections import Connections
from tests.contract.addresses import address_of, port_of, stores_at
from tests.contract.published_keys import Time
from tests.contract.stores import Stores, real_stores
from tests.support.fakes import World
from tests.support.issuer import Issuer, running_issuer
from tests.support.lossy import Relay, relay_to
from tests.support.storage import Azurite


@pytest.fixture
def prefix() -> str:
    """The beginning of table and container names that no other test uses."""
    return f"t{uuid.uuid4().hex[:16]}"


@pytest.fixture
async def connections(azurite: Azurite) -> AsyncIterator[Connections]:
    """Clients to the real Azurite."""
    made = Connections(StorageAddress(connection_string=azurite.connection_string), BusAddress())
    try:
        yield made
    finally:
        await made.aclose()


@pytest.fixture(params=["fake", "real"])
def stores(request: pytest.FixtureRequest, prefix: str) -> Stores:
    """The storage ports: once as fakes, once for real."""
    if request.param == "real":
        return real_stores(request.getfixturevalue("connections"), prefix)
    world = World()
    return Stores(
        jobs=world.jobs,
        open=world.open,
        cases=world.cases,
        groups=world.groups,
        blobs=world.blobs,
        retention=world.retention,
        reviews=world.reviews,
        breakers=world.breakers,
        budgets=world.budgets,
        slots=world.slots,
        container=f"{prefix}blobs",
    )


@pytest.fixture
async def lossy(azurite: Azurite, prefix: str) -> AsyncIterator[tuple[Stores, Relay]]:
    """Stores whose tables are reached through a relay, and the relay."""
    async with (
        relay_to(port_of(azurite, "table")) as relay,
        stores_at(address_of(azurite, table=relay.port), prefix) as stores,
    ):
        yield stores, relay


@pytest.fixture
async def lossy_blobs(azurite: Azurite, prefix: str) -> AsyncIterator[tuple[Stores, Relay]]:
    """Stores whose blobs are reached through a relay, and the relay."""
    async with (
        relay_to(port_of(azurite, "blob")) as relay,
        stores_at(address_of(azurite, blob=relay.port), prefix) as stores,
    ):
        yield stores, relay


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with running_issuer() as running:
        yield running


@pytest.fixture
def clock() -> Time:
    """The key sets' own."""
    return Time()


@pytest.fixture
async def key_sets(clock: Time, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[adapters.KeySets]:
    """The real directory, which waits longer for an answer than a sender does: the machine may be busy."""
    monkeypatch.setattr(adapters, "FETCH_SECONDS", 60.0)
    made = adapters.KeySets(clock)
    yield made
    await made.aclose()
