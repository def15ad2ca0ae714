"""The contract of GroupStore."""

import asyncio

import pytest

from tests.contract.stores import Stores
from tests.support.records import MOMENT, a_case, minutes_later


async def test_the_first_case_makes_a_group_that_is_not_alerted(stores: Stores) -> None:
    group = await stores.groups.add(a_case())
    assert (group.fingerprint, group.task_type, group.code) == (
        "summarize_document.unsupported_format",
        "summarize_document",
        "unsupported_format",
    )
    assert (group.count, group.first_seen, group.alerted) == (1, MOMENT, False)


async def test_a_case_is_counted_once_however_often_it_is_added(stores: Stores) -> None:
    for _ in range(3):
        group = await stores.groups.add(a_case())
        assert group.count == 1


async def test_jobs_and_releases_are_counted_each(stores: Stores) -> None:
    await stores.groups.add(a_case("job_a"))
    await stores.groups.add(a_case("job_b"))
    assert (await stores.groups.add(a_case("job_a", release=1))).count == 3


async def test_groups_are_counted_apart(stores: Stores) -> None:
    await stores.groups.add(a_case(fingerprint="one"))
    assert (await stores.groups.add(a_case(fingerprint="two"))).count == 1


async def test_parallel_cases_are_counted_exactly(stores: Stores) -> None:
    adds = [stores.groups.add(a_case(f"job_{n % 8}")) for n in range(16)]
    counts = {group.count for group in await asyncio.gather(*adds)}
    assert max(counts) == 8
    assert (await stores.groups.add(a_case("job_0"))).count == 8


async def test_the_first_time_seen_is_the_earliest(stores: Stores) -> None:
    await stores.groups.add(a_case("job_a", dead_at=minutes_later(5)))
    await stores.groups.add(a_case("job_b", dead_at=minutes_later(1)))
    assert (await stores.groups.add(a_case("job_c", dead_at=minutes_later(9)))).first_seen == minutes_later(1)


async def test_a_group_waits_for_its_alert_until_that_is_confirmed(stores: Stores) -> None:
    assert await stores.groups.unalerted() == []
    one = await stores.groups.add(a_case(fingerprint="one"))
    two = await stores.groups.add(a_case(fingerprint="two"))
    assert sorted(await stores.groups.unalerted(), key=lambda group: group.fingerprint) == [one, two]
    await stores.groups.mark_alerted("one")
    await stores.groups.mark_alerted("one")
    assert await stores.groups.unalerted() == [two]


async def test_an_alerted_group_stays_alerted_while_it_grows(stores: Stores) -> None:
    await stores.groups.add(a_case("job_a"))
    await stores.groups.mark_alerted(a_case().fingerprint)
    group = await stores.groups.add(a_case("job_b"))
    assert (group.count, group.alerted) == (2, True)
    assert await stores.groups.unalerted() == []


async def test_counting_and_marking_at_once_lose_neither(stores: Stores) -> None:
    await stores.groups.add(a_case("job_0"))
    adds = [stores.groups.add(a_case(f"job_{n}")) for n in range(8)]
    await asyncio.gather(*adds, stores.groups.mark_alerted(a_case().fingerprint))
    group = await stores.groups.add(a_case("job_0"))
    assert (group.count, group.alerted) == (8, True)


async def test_marking_an_unknown_group_is_quiet(stores: Stores) -> None:
    await stores.groups.mark_alerted("nothing")
    await stores.groups.mark_alerted("a/b")


async def test_a_fingerprint_that_no_storage_takes_is_refused(stores: Stores) -> None:
    with pytest.raises(ValueError, match="fingerprint"):
        await stores.groups.add(a_case(fingerprint="a/b"))
