"""The contract of RetentionIndex."""

import asyncio
from datetime import date, timedelta

import pytest

from shared.retention.ports import EndedJob, Left, RetentionIndex
from tests.contract.stores import Stores

DAY = date(2026, 7, 27)


def an_ended(job_id: str = "job_a", days: int = 0, left: Left = Left.ALL) -> EndedJob:
    return EndedJob(job_id=job_id, day=DAY + timedelta(days=days), left=left)


async def found(index: RetentionIndex, days: int, left: Left = Left.ALL) -> list[EndedJob]:
    return [entry async for entry in index.ended_before(DAY + timedelta(days=days), left)]


async def test_nothing_has_ended_at_first(stores: Stores) -> None:
    assert await found(stores.retention, 1000) == []
    await stores.retention.remove(an_ended())


async def test_only_days_before_the_named_one_are_read(stores: Stores) -> None:
    for days in (-400, -1, 0, 1):
        await stores.retention.put(an_ended(days=days))
    assert await found(stores.retention, 0) == [an_ended(days=-400), an_ended(days=-1)]
    assert await found(stores.retention, -400) == []


async def test_what_is_left_of_a_job_keeps_it_apart(stores: Stores) -> None:
    for left in Left:
        await stores.retention.put(an_ended(f"job_{left}", left=left))
    for left in Left:
        assert await found(stores.retention, 1, left) == [an_ended(f"job_{left}", left=left)]


async def test_putting_twice_gives_one_and_removing_takes_that_one_only(stores: Stores) -> None:
    for entry in (an_ended(), an_ended(), an_ended("job_b"), an_ended(days=1)):
        await stores.retention.put(entry)
    await stores.retention.remove(an_ended())
    assert await found(stores.retention, 9) == [an_ended("job_b"), an_ended(days=1)]


async def test_every_entry_is_seen_once_over_many_pages_and_while_they_are_removed(stores: Stores) -> None:
    wanted = {an_ended(f"job_{number:02d}", days=number % 3) for number in range(40)}
    await asyncio.gather(*(stores.retention.put(entry) for entry in wanted))
    seen = []
    async for entry in stores.retention.ended_before(DAY + timedelta(days=3), Left.ALL):
        seen.append(entry)
        await stores.retention.remove(entry)
    assert len(seen) == len(wanted)
    assert set(seen) == wanted
    assert await found(stores.retention, 3) == []


async def test_an_id_that_no_storage_takes_is_refused(stores: Stores) -> None:
    with pytest.raises(ValueError, match="job id"):
        await stores.retention.put(an_ended("a/b"))
