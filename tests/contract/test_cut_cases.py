"""Writes of cases and groups that die at each of their requests: hidden from nobody, and repeatable."""

from collections.abc import Awaitable
from dataclasses import replace

import pytest

from shared.deadletters.ports import CaseFilter, CaseState
from shared.errors import StorageUnavailable
from tests.contract.addresses import warm
from tests.contract.stores import Stores
from tests.support.lossy import Relay
from tests.support.records import a_case, minutes_later


@pytest.mark.parametrize("lost", range(1, 7))
async def test_a_case_is_filed_and_counted_once_whichever_answer_is_lost(
    lossy: tuple[Stores, Relay], lost: int
) -> None:
    stores, relay = lossy
    await warm(stores)

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
    await warm(stores)
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
    await warm(stores)
    await stores.groups.mark_alerted("warm")
    for cut in range(1, 4):
        case = a_case(fingerprint=f"kind-{cut}")
        await _dies(relay, cut, stores.groups.add(case))
        await stores.groups.add(case)
        assert [group.count for group in await stores.groups.unalerted()] == [1]
        await stores.groups.mark_alerted(case.fingerprint)
        assert await stores.groups.unalerted() == []


async def _ids(stores: Stores, state: CaseState) -> list[str]:
    page = await stores.cases.page(CaseFilter(state=state), limit=10, cursor=None)
    return [case.job_id for case in page.cases]


async def _dies(relay: Relay, cut: int, call: Awaitable[object]) -> None:
    """Run `call` with every answer lost from the `cut`-th on: what a crash at that place leaves behind."""
    relay.skip, relay.lose = cut - 1, 1000
    with pytest.raises(StorageUnavailable):
        await call
    relay.skip = relay.lose = 0
