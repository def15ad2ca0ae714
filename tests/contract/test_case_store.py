"""The contract of CaseStore."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.deadletters.ports import Case, CaseFilter, CaseState, CaseStore
from shared.jobs import Category
from tests.contract.stores import Stores
from tests.support.records import MOMENT, a_case, minutes_later


def _decided(case: Case, state: CaseState = CaseState.CLOSED) -> Case:
    return replace(case, state=state, operator="mira", reason="not needed", decided_at=minutes_later(60))


async def _listed(cases: CaseStore, wanted: CaseFilter | None = None, limit: int = 3) -> list[Case]:
    found: list[Case] = []
    cursor = None
    for _ in range(100):
        page = await cases.page(wanted or CaseFilter(), limit=limit, cursor=cursor)
        assert len(page.cases) <= limit
        found.extend(page.cases)
        cursor = page.cursor
        if cursor is None:
            return found
    raise AssertionError("the list does not end")


async def test_a_filed_case_is_found_and_listed_with_every_field(stores: Stores) -> None:
    case = a_case(dead_at=MOMENT + timedelta(microseconds=123456), message="Größe \U0001f6a2", release=2)
    assert await stores.cases.file(case)
    assert await stores.cases.get("job_a", 2) == case
    assert await stores.cases.get("job_a") == case
    assert await _listed(stores.cases) == [case]


async def test_filing_twice_gives_one_case_and_keeps_the_first(stores: Stores) -> None:
    first = a_case()
    assert await stores.cases.file(first)
    assert not await stores.cases.file(replace(first, dead_at=minutes_later(5), code="other"))
    assert await _listed(stores.cases) == [first]
    assert await stores.cases.get("job_a", 0) == first


async def test_of_ten_parallel_filings_one_is_new_and_one_case_is_listed(stores: Stores) -> None:
    filings = (stores.cases.file(a_case(dead_at=minutes_later(n))) for n in range(10))
    assert sum(await asyncio.gather(*filings)) == 1
    assert len(await _listed(stores.cases)) == 1


async def test_a_decided_case_is_not_filed_again(stores: Stores) -> None:
    case = a_case()
    await stores.cases.file(case)
    await stores.cases.decide(_decided(case))
    assert not await stores.cases.file(case)
    assert await _listed(stores.cases) == []
    assert await stores.cases.get("job_a", 0) == _decided(case)


async def test_an_unknown_case_is_none(stores: Stores) -> None:
    await stores.cases.file(a_case())
    assert await stores.cases.get("job_b") is None
    assert await stores.cases.get("job_a", 1) is None
    assert await stores.cases.get("a/b") is None


async def test_without_a_release_the_latest_case_is_found(stores: Stores) -> None:
    for release in (0, 10, 2):
        await stores.cases.file(a_case(release=release, dead_at=minutes_later(-release)))
    latest = await stores.cases.get("job_a")
    assert latest is not None
    assert latest.release == 10


async def test_cases_are_listed_newest_first_and_each_once(stores: Stores) -> None:
    times = [5, 3, 3, 9, 0.001, -10_000_000, 7]
    cases = [a_case(f"job_{n}", dead_at=minutes_later(minute)) for n, minute in enumerate(times)]
    for case in cases:
        await stores.cases.file(case)
    listed = await _listed(stores.cases)
    assert len(listed) == len(cases)
    assert [case.dead_at for case in listed] == sorted((case.dead_at for case in cases), reverse=True)
    assert {case.job_id for case in listed} == {case.job_id for case in cases}


async def test_a_full_last_page_has_no_cursor(stores: Stores) -> None:
    for n in range(3):
        await stores.cases.file(a_case(f"job_{n}", dead_at=minutes_later(n)))
    page = await stores.cases.page(CaseFilter(), limit=3, cursor=None)
    assert len(page.cases) == 3
    assert page.cursor is None


async def test_new_cases_do_not_disturb_a_list_that_is_being_read(stores: Stores) -> None:
    for n in range(4):
        await stores.cases.file(a_case(f"job_{n}", dead_at=minutes_later(n)))
    first = await stores.cases.page(CaseFilter(), limit=2, cursor=None)
    await stores.cases.file(a_case("job_new", dead_at=minutes_later(99)))
    second = await stores.cases.page(CaseFilter(), limit=2, cursor=first.cursor)
    assert [case.job_id for case in (*first.cases, *second.cases)] == ["job_3", "job_2", "job_1", "job_0"]


@pytest.mark.parametrize("state", [CaseState.CLOSED, CaseState.RESUBMITTED])
async def test_a_decision_moves_the_case_to_its_list(stores: Stores, state: CaseState) -> None:
    await stores.cases.file(a_case())
    await stores.cases.file(a_case("job_b"))
    decided = _decided(a_case(), state)
    await stores.cases.decide(decided)
    assert await stores.cases.get("job_a", 0) == decided
    assert await _listed(stores.cases) == [a_case("job_b")]
    assert await _listed(stores.cases, CaseFilter(state=state)) == [decided]


async def test_deciding_again_changes_nothing(stores: Stores) -> None:
    await stores.cases.file(a_case())
    for _ in range(2):
        await stores.cases.decide(_decided(a_case()))
    assert await _listed(stores.cases) == []
    assert await _listed(stores.cases, CaseFilter(state=CaseState.CLOSED)) == [_decided(a_case())]


async def test_a_decision_keeps_the_time_of_death(stores: Stores) -> None:
    await stores.cases.file(a_case())
    await stores.cases.decide(_decided(a_case(dead_at=minutes_later(500))))
    assert await _listed(stores.cases, CaseFilter(state=CaseState.CLOSED)) == [_decided(a_case())]
    assert await _listed(stores.cases) == []


async def test_a_decision_on_a_case_that_was_never_filed_is_kept(stores: Stores) -> None:
    await stores.cases.decide(_decided(a_case()))
    assert await stores.cases.get("job_a", 0) == _decided(a_case())
    assert not await stores.cases.file(a_case())
    assert await _listed(stores.cases) == []


async def test_parallel_decisions_leave_the_case_in_one_list_that_agrees_with_it(stores: Stores) -> None:
    await stores.cases.file(a_case())
    states = [CaseState.CLOSED, CaseState.RESUBMITTED] * 3
    await asyncio.gather(*(stores.cases.decide(_decided(a_case(), state)) for state in states))
    truth = await stores.cases.get("job_a", 0)
    assert truth is not None
    assert truth in await _listed(stores.cases, CaseFilter(state=truth.state))
    assert await _listed(stores.cases) == []


async def test_fifty_parallel_decisions_of_the_same_kind_all_return(stores: Stores) -> None:
    await stores.cases.file(a_case())
    await asyncio.gather(*(stores.cases.decide(_decided(a_case())) for _ in range(50)))
    assert await stores.cases.get("job_a", 0) == _decided(a_case())
    assert await _listed(stores.cases) == []
    assert await _listed(stores.cases, CaseFilter(state=CaseState.CLOSED)) == [_decided(a_case())]


async def test_of_two_decisions_of_one_kind_the_first_is_kept_in_row_and_list(stores: Stores) -> None:
    await stores.cases.file(a_case())
    first = _decided(a_case())
    await stores.cases.decide(first)
    await stores.cases.decide(replace(first, operator="noor", reason="another"))
    assert await stores.cases.get("job_a", 0) == first
    assert await _listed(stores.cases, CaseFilter(state=CaseState.CLOSED)) == [first]


async def test_filters_choose_among_the_cases_of_a_state(stores: Stores) -> None:
    for n in range(12):
        case = a_case(
            f"job_{n:02d}",
            dead_at=minutes_later(n),
            category=Category.CRASHED if n % 2 else Category.FIX_INPUT,
            task_type="summarize_document" if n % 3 else "other",
            fingerprint=f"kind-{n % 4}",
        )
        await stores.cases.file(case)
    crashed = await _listed(stores.cases, CaseFilter(category=Category.CRASHED))
    assert [case.job_id for case in crashed] == [f"job_{n:02d}" for n in (11, 9, 7, 5, 3, 1)]
    wanted = CaseFilter(category=Category.FIX_INPUT, task_type="other", fingerprint="kind-2")
    assert [case.job_id for case in await _listed(stores.cases, wanted)] == ["job_06"]
    assert await _listed(stores.cases, CaseFilter(task_type="none")) == []


@pytest.mark.parametrize(
    "cursor", ["", "x", "é", "W10", "eyJhIjoxfQ", "WyJvcGVuIiwgImEvYiJd", "A" * 5000, "[[" * 99]
)
async def test_a_cursor_that_is_none_of_ours_is_refused(stores: Stores, cursor: str) -> None:
    with pytest.raises(ValueError, match="cursor"):
        await stores.cases.page(CaseFilter(), limit=1, cursor=cursor)


async def test_a_cursor_of_another_list_is_refused(stores: Stores) -> None:
    for n in range(2):
        await stores.cases.file(a_case(f"job_{n}"))
    cursor = (await stores.cases.page(CaseFilter(), limit=1, cursor=None)).cursor
    assert cursor is not None
    with pytest.raises(ValueError, match="another list"):
        await stores.cases.page(CaseFilter(state=CaseState.CLOSED), limit=1, cursor=cursor)


async def test_only_an_open_case_is_filed_and_only_a_decided_one_decided(stores: Stores) -> None:
    with pytest.raises(ValueError, match="open"):
        await stores.cases.file(_decided(a_case()))
    with pytest.raises(ValueError, match="decided"):
        await stores.cases.decide(a_case())
