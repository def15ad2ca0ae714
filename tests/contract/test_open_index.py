"""The contract of OpenIndex."""

import asyncio

import pytest

from shared.ports import OpenEntry, OpenIndex
from tests.contract.stores import Stores
from tests.support.records import MOMENT, minutes_later


async def _entries(index: OpenIndex) -> list[OpenEntry]:
    return [entry async for entry in index.entries()]


async def _only(index: OpenIndex) -> OpenEntry:
    entries = await _entries(index)
    assert len(entries) == 1
    return entries[0]


async def test_nothing_is_open_at_first(stores: Stores) -> None:
    assert await _entries(stores.open) == []


async def test_an_entry_tells_job_release_and_when_it_was_written(stores: Stores) -> None:
    await stores.open.put("job_a", 3)
    entry = await _only(stores.open)
    assert (entry.job_id, entry.release, entry.nudges, entry.nudged_at) == ("job_a", 3, 0, None)
    assert entry.written_at.tzinfo is not None
    assert entry.version


async def test_every_entry_is_seen_once_over_many_pages(stores: Stores) -> None:
    wanted = {(f"job_{n}", n % 3) for n in range(40)}
    await asyncio.gather(*(stores.open.put(job_id, release) for job_id, release in wanted))
    seen = [(entry.job_id, entry.release) for entry in await _entries(stores.open)]
    assert len(seen) == len(wanted)
    assert set(seen) == wanted


async def test_releases_of_one_job_are_entries_of_their_own(stores: Stores) -> None:
    await stores.open.put("job_a", 0)
    await stores.open.put("job_a", 1)
    await stores.open.remove("job_a", 0)
    assert (await _only(stores.open)).release == 1


async def test_putting_again_keeps_nothing_of_the_earlier_row(stores: Stores) -> None:
    await stores.open.put("job_a", 0)
    await stores.open.note_nudge(await _only(stores.open), MOMENT)
    await stores.open.put("job_a", 0)
    entry = await _only(stores.open)
    assert (entry.nudges, entry.nudged_at) == (0, None)


async def test_removing_what_is_not_there_is_quiet(stores: Stores) -> None:
    await stores.open.remove("job_a", 0)
    await stores.open.remove("job_a", 0, version='W/"1"')
    await stores.open.remove("a/b", 0)


async def test_a_removal_of_an_older_version_does_nothing(stores: Stores) -> None:
    await stores.open.put("job_a", 0)
    old = await _only(stores.open)
    await stores.open.put("job_a", 0)
    await stores.open.remove("job_a", 0, version=old.version)
    now = await _only(stores.open)
    await stores.open.remove("job_a", 0, version=now.version)
    assert await _entries(stores.open) == []


async def test_nudges_are_counted_with_their_time(stores: Stores) -> None:
    await stores.open.put("job_a", 0)
    for minute in (1, 2):
        await stores.open.note_nudge(await _only(stores.open), minutes_later(minute))
    entry = await _only(stores.open)
    assert (entry.nudges, entry.nudged_at) == (2, minutes_later(2))
    assert (entry.job_id, entry.release) == ("job_a", 0)


async def test_a_nudge_on_a_changed_or_removed_row_is_not_counted(stores: Stores) -> None:
    await stores.open.put("job_a", 0)
    old = await _only(stores.open)
    await stores.open.put("job_a", 0)
    await stores.open.note_nudge(old, MOMENT)
    assert (await _only(stores.open)).nudges == 0
    await stores.open.remove("job_a", 0)
    await stores.open.note_nudge(old, MOMENT)
    assert await _entries(stores.open) == []


async def test_an_id_that_no_storage_takes_is_refused(stores: Stores) -> None:
    with pytest.raises(ValueError, match="job id"):
        await stores.open.put("a/b", 0)
