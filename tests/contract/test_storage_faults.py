"""The real storage adapters when answers are lost, storage is frozen or away, or nothing exists yet."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from shared.adapters.addresses import BusAddress, StorageAddress
from shared.adapters.connections import Connections
from shared.adapters.guard import StorageGuard
from shared.deadletters.ports import CaseFilter, CaseState
from shared.errors import Conflict, StorageUnavailable
from shared.limits.breaker import CLOSED, Breaker
from shared.limits.ports import Slot
from shared.limits.rates import Meter, Place
from shared.ports import Row, RowKind
from tests.contract.conftest import Stores, real_stores
from tests.support.lossy import Relay, black_hole, refusing, relay_to
from tests.support.records import MOMENT, a_case, a_job, minutes_later
from tests.support.storage import Azurite
from tests.support.waiting import in_time

Act = Callable[[Stores], Awaitable[object]]
_WRONG_KEY = "d3Jvbmcga2V5IG9mIGEgdGVzdA=="


def _address(azurite: Azurite, **ports: int) -> StorageAddress:
    """Azurite's connection string with other ports for its services (`blob`, `table`)."""
    text = azurite.connection_string
    for service, port in ports.items():
        text = text.replace(f":{_port(azurite, service)}/", f":{port}/")
    return StorageAddress(connection_string=text)


def _port(azurite: Azurite, service: str) -> int:
    pairs = dict(part.split("=", 1) for part in azurite.connection_string.split(";") if part)
    port = urlsplit(pairs[f"{service.capitalize()}Endpoint"]).port
    assert port is not None
    return port


@asynccontextmanager
async def _at(address: StorageAddress, prefix: str) -> AsyncIterator[Stores]:
    connections = Connections(address, BusAddress())
    try:
        yield real_stores(connections, prefix)
    finally:
        await connections.aclose()


@pytest.fixture
async def lossy(azurite: Azurite, prefix: str) -> AsyncIterator[tuple[Stores, Relay]]:
    """Stores whose tables are reached through a relay, and the relay."""
    async with (
        relay_to(_port(azurite, "table")) as relay,
        _at(_address(azurite, table=relay.port), prefix) as stores,
    ):
        yield stores, relay


@pytest.fixture
async def lossy_blobs(azurite: Azurite, prefix: str) -> AsyncIterator[tuple[Stores, Relay]]:
    """Stores whose blobs are reached through a relay, and the relay."""
    async with (
        relay_to(_port(azurite, "blob")) as relay,
        _at(_address(azurite, blob=relay.port), prefix) as stores,
    ):
        yield stores, relay


async def _warm(stores: Stores) -> None:
    """Make the tables, so that the next answer is the one of the call under test."""
    await stores.jobs.insert(a_job("job_warm"), [])
    await stores.open.put("job_warm", 0)
    await stores.cases.file(a_case("job_warm"))
    await stores.groups.add(a_case("job_warm", fingerprint="warm"))


async def test_an_insert_whose_answer_was_lost_still_says_that_it_inserted(
    lossy: tuple[Stores, Relay],
) -> None:
    stores, relay = lossy
    await _warm(stores)
    relay.lose = 1
    assert await stores.jobs.insert(a_job(), [Row(kind=RowKind.INPUT, key="body", content=b"x")])
    assert relay.lost == 1
    assert not await stores.jobs.insert(a_job(), [])


async def test_a_commit_whose_answer_was_lost_is_known_by_its_token(lossy: tuple[Stores, Relay]) -> None:
    stores, relay = lossy
    await stores.jobs.insert(a_job(), [])
    snapshot = await stores.jobs.load("job_a")
    assert snapshot is not None
    relay.lose = 1
    committed = await stores.jobs.commit(snapshot, snapshot.job.changed(MOMENT, claim=1))
    assert relay.lost == 1
    again = await stores.jobs.commit(committed, committed.job.changed(MOMENT, claim=2))
    assert again.job.claim == 2
    with pytest.raises(Conflict):
        await stores.jobs.commit(snapshot, snapshot.job.changed(MOMENT, claim=3))


async def test_a_replaced_row_whose_answer_was_lost_is_known_by_what_it_holds(
    lossy: tuple[Stores, Relay],
) -> None:
    stores, relay = lossy
    await stores.jobs.add_row("job_a", Row(kind=RowKind.OUTBOX, key="k"))
    read = await stores.jobs.row("job_a", RowKind.OUTBOX, "k")
    assert read is not None
    assert read.version is not None
    relay.lose = 1
    written = await stores.jobs.replace_row("job_a", replace(read, data={"by": "us"}), read.version)
    assert relay.lost == 1
    assert written is not None
    assert await stores.jobs.replace_row("job_a", replace(read, data={"by": "them"}), read.version) is None
    assert await stores.jobs.replace_row("job_a", replace(read, data={"by": "us again"}), written)


async def test_an_insert_that_never_gets_an_answer_is_unavailable_and_safe_to_repeat(
    lossy: tuple[Stores, Relay],
) -> None:
    stores, relay = lossy
    await _warm(stores)
    relay.lose = 10
    with pytest.raises(StorageUnavailable):
        await stores.jobs.insert(a_job(), [])
    relay.lose = 0
    assert not await stores.jobs.insert(a_job(), [])
    assert await stores.jobs.load("job_a") is not None


@pytest.mark.parametrize("lost", range(1, 7))
async def test_a_case_is_filed_and_counted_once_whichever_answer_is_lost(
    lossy: tuple[Stores, Relay], lost: int
) -> None:
    stores, relay = lossy
    await _warm(stores)

    relay.skip, relay.lose = lost - 1, 1
    await stores.cases.file(a_case())
    await stores.groups.add(a_case())
    assert relay.lost == 1
    listed = await stores.cases.page(CaseFilter(fingerprint=a_case().fingerprint), limit=10, cursor=None)
    assert [case.job_id for case in listed.cases].count("job_a") == 1
    assert (await stores.groups.add(a_case())).count == 1


@pytest.mark.parametrize("cut", range(1, 4))
async def test_a_filing_that_died_between_its_writes_is_completed_by_the_repeat(
    lossy: tuple[Stores, Relay], cut: int
) -> None:
    stores, relay = lossy
    await _warm(stores)
    await _dies(relay, cut, stores.cases.file(a_case()))
    assert not await stores.cases.file(replace(a_case(), dead_at=minutes_later(5)))
    listed = (await stores.cases.page(CaseFilter(), limit=10, cursor=None)).cases
    assert [case.job_id for case in listed].count("job_a") == 1
    assert await stores.cases.get("job_a", 0) == next(case for case in listed if case.job_id == "job_a")


@pytest.mark.parametrize("cut", range(1, 5))
async def test_a_decision_that_died_between_its_writes_hides_no_case_and_can_be_repeated(
    lossy: tuple[Stores, Relay], cut: int
) -> None:
    stores, relay = lossy
    await stores.cases.file(a_case())
    closed = replace(a_case(), state=CaseState.CLOSED, operator="mira", reason="done")
    await _dies(relay, cut, stores.cases.decide(closed))
    in_lists = [await _ids(stores, state) for state in (CaseState.OPEN, CaseState.CLOSED)]
    assert ["job_a"] in in_lists
    await stores.cases.decide(closed)
    assert await _ids(stores, CaseState.OPEN) == []
    assert await _ids(stores, CaseState.CLOSED) == ["job_a"]


async def test_an_unconfirmed_alert_is_found_after_a_count_that_died(lossy: tuple[Stores, Relay]) -> None:
    stores, relay = lossy
    await _warm(stores)
    await stores.groups.mark_alerted("warm")
    for cut in range(1, 4):
        case = a_case(fingerprint=f"kind-{cut}")
        await _dies(relay, cut, stores.groups.add(case))
        await stores.groups.add(case)
        assert [group.count for group in await stores.groups.unalerted()] == [1]
        await stores.groups.mark_alerted(case.fingerprint)
        assert await stores.groups.unalerted() == []


async def test_a_breaker_whose_writes_answer_was_lost_is_known_as_written(
    lossy: tuple[Stores, Relay],
) -> None:
    stores, relay = lossy
    first = await stores.breakers.write("openai", Breaker(failures=1), None)
    assert first is not None
    relay.lose = 1
    second = await stores.breakers.write("openai", Breaker(failures=2), first.version)
    assert relay.lost == 1
    assert second == await stores.breakers.load("openai")
    assert await stores.breakers.write("openai", CLOSED, first.version) is None


async def test_a_place_whose_answer_was_lost_is_held(lossy: tuple[Stores, Relay]) -> None:
    stores, relay = lossy
    slot = Slot(number=0, token="one", since=MOMENT, until=minutes_later(1))
    await stores.slots.take("warm", slot, None)
    relay.lose = 1
    held = await stores.slots.take("tenant", slot, None)
    assert relay.lost == 1
    assert held == slot
    assert await stores.slots.take("tenant", replace(slot, token="two"), None) is None
    await stores.slots.release("tenant", held)
    assert await stores.slots.slots("tenant") == []


async def test_a_start_whose_answer_was_lost_is_counted_once(lossy: tuple[Stores, Relay]) -> None:
    stores, relay = lossy
    assert await stores.slots.advance("tenant", Meter(), None)
    stored = await stores.slots.meter("tenant")
    relay.lose = 1
    meter = Meter(full_at=minutes_later(1), next_start=MOMENT, asked=MOMENT)
    assert await stores.slots.advance("tenant", meter, stored.version, "job_a")
    assert relay.lost == 1
    assert (await stores.slots.meter("tenant")).meter == meter
    assert await stores.slots.place("tenant", "job_a") == Place(start=MOMENT, asked=MOMENT)
    assert not await stores.slots.advance("tenant", Meter(), stored.version)


async def test_a_blob_whose_answer_was_lost_is_there_and_whole(lossy_blobs: tuple[Stores, Relay]) -> None:
    stores, relay = lossy_blobs
    await stores.blobs.put_if_absent(f"{stores.container}/warm", b"x", "text/plain")
    relay.lose = 1
    await stores.blobs.put_if_absent(f"{stores.container}/a", b"content", "text/plain")
    assert relay.lost == 1
    assert await stores.blobs.read(f"{stores.container}/a", max_bytes=10) == b"content"


async def test_a_read_is_asked_again_when_its_answer_is_lost(lossy: tuple[Stores, Relay]) -> None:
    stores, relay = lossy
    await stores.jobs.insert(a_job(), [])
    await stores.open.put("job_a", 0)
    relay.lose = 1
    assert await stores.jobs.load("job_a") is not None
    relay.lose = 1
    assert len([entry async for entry in stores.open.entries()]) == 1
    assert relay.lost == 2


_CALLS: dict[str, Act] = {
    "insert": lambda s: s.jobs.insert(a_job(), []),
    "load": lambda s: s.jobs.load("job_a"),
    "rows": lambda s: s.jobs.rows("job_a", RowKind.TIMELINE),
    "put": lambda s: s.open.put("job_a", 0),
    "remove": lambda s: s.open.remove("job_a", 0),
    "entries": lambda s: anext(aiter(s.open.entries())),
    "file": lambda s: s.cases.file(a_case()),
    "page": lambda s: s.cases.page(CaseFilter(), limit=5, cursor=None),
    "add": lambda s: s.groups.add(a_case()),
    "put_blob": lambda s: s.blobs.put_if_absent("inputs/a", b"x", "text/plain"),
    "read_blob": lambda s: s.blobs.read("inputs/a", max_bytes=10),
}


async def _all_calls(address: StorageAddress, prefix: str) -> list[BaseException | None]:
    """What each call comes to that is made on clients of its own."""
    async with _at(address, prefix) as stores:
        return list(await asyncio.gather(*(_error(act(stores)) for act in _CALLS.values())))


async def test_a_frozen_storage_is_unavailable_within_the_bound(azurite: Azurite, prefix: str) -> None:
    async with black_hole() as port:
        address = _address(azurite, table=port, blob=port)
        results = await in_time(12, lambda: _all_calls(address, prefix))
    assert dict(zip(_CALLS, map(type, results), strict=True)) == dict.fromkeys(_CALLS, StorageUnavailable)
    _tells_nothing(results)


async def test_a_storage_that_is_away_is_unavailable_at_once(azurite: Azurite, prefix: str) -> None:
    with refusing() as port:
        address = _address(azurite, table=port, blob=port)
        results = await in_time(5, lambda: _all_calls(address, prefix))
    assert dict(zip(_CALLS, map(type, results), strict=True)) == dict.fromkeys(_CALLS, StorageUnavailable)
    _tells_nothing(results)


# azure-data-tables 12.7.0 asks an XML element for its truth value, of which Python 3.12 and newer warn.
@pytest.mark.filterwarnings("ignore:Testing an element's truth value:DeprecationWarning")
async def test_a_wrong_key_is_our_own_fault_and_is_told_once(
    azurite: Azurite, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    parts = [
        f"AccountKey={_WRONG_KEY}" if part.startswith("AccountKey=") else part
        for part in azurite.connection_string.split(";")
    ]
    with caplog.at_level(logging.INFO):
        async with _at(StorageAddress(connection_string=";".join(parts)), prefix) as stores:
            for _ in range(2):
                error = await _error(stores.jobs.load("job_a"))
                assert isinstance(error, StorageUnavailable)
    told = [record for record in caplog.records if record.name == "afterhook.storage"]
    assert len(told) == 1
    assert "AzureWebJobsStorage" in told[0].getMessage()
    assert _WRONG_KEY not in caplog.text
    assert "http://" not in caplog.text


async def test_a_cancelled_call_is_cancelled_and_not_an_outage() -> None:
    guard = StorageGuard("table")
    task = asyncio.create_task(guard.call(lambda: asyncio.sleep(60)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def _ids(stores: Stores, state: CaseState) -> list[str]:
    page = await stores.cases.page(CaseFilter(state=state), limit=10, cursor=None)
    return [case.job_id for case in page.cases]


async def _dies(relay: Relay, cut: int, call: Awaitable[object]) -> None:
    """Run `call` with every answer lost from the `cut`-th on: what a crash at that place leaves behind."""
    relay.skip, relay.lose = cut - 1, 1000
    with pytest.raises(StorageUnavailable):
        await call
    relay.skip = relay.lose = 0


async def _error(call: Awaitable[object]) -> BaseException | None:
    try:
        await call
    except Exception as error:  # noqa: BLE001  the test looks at whatever came
        return error
    return None


def _tells_nothing(errors: list[BaseException | None]) -> None:
    """No address, name or SDK text in what goes on to logs and answers, also by way of a cause."""
    for error in errors:
        assert error is not None
        assert error.__suppress_context__
        assert error.__cause__ is None
        assert "127.0.0.1" not in str(error)
