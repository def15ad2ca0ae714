"""The real storage adapters when storage is frozen or away, or the key is wrong."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from shared.adapters.addresses import StorageAddress
from shared.adapters.guard import StorageGuard
from shared.deadletters.ports import CaseFilter
from shared.errors import StorageUnavailable
from shared.ports import RowKind
from tests.contract.addresses import address_of, stores_at
from tests.contract.stores import Stores
from tests.support.lossy import black_hole, refusing
from tests.support.records import a_case, a_job
from tests.support.storage import Azurite
from tests.support.waiting import in_time

Act = Callable[[Stores], Awaitable[object]]
_WRONG_KEY = "d3Jvbmcga2V5IG9mIGEgdGVzdA=="


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
    async with stores_at(address, prefix) as stores:
        return list(await asyncio.gather(*(_error(act(stores)) for act in _CALLS.values())))


async def test_a_frozen_storage_is_unavailable_within_the_bound(azurite: Azurite, prefix: str) -> None:
    async with black_hole() as port:
        address = address_of(azurite, table=port, blob=port)
        results = await in_time(12, lambda: _all_calls(address, prefix))
    assert dict(zip(_CALLS, map(type, results), strict=True)) == dict.fromkeys(_CALLS, StorageUnavailable)
    _tells_nothing(results)


async def test_a_storage_that_is_away_is_unavailable_at_once(azurite: Azurite, prefix: str) -> None:
    with refusing() as port:
        address = address_of(azurite, table=port, blob=port)
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
        async with stores_at(StorageAddress(connection_string=";".join(parts)), prefix) as stores:
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
