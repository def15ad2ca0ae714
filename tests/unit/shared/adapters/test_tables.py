"""Reading pages as Azure may cut them (the emulator never does), and the time of an answer."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from shared.adapters.addresses import BusAddress, StorageAddress
from shared.adapters.cases_table import CasesTable
from shared.adapters.clock import SystemRandomness
from shared.adapters.connections import Connections
from shared.adapters.open_table import OpenTable
from shared.adapters.tables import Table
from shared.deadletters.ports import Case, CaseFilter
from shared.errors import StorageUnavailable
from shared.jobs import Category
from shared.records import to_text
from tests.support.records import MOMENT, a_case

_METADATA = {"etag": 'W/"1"', "timestamp": MOMENT}


class Entity(dict[str, Any]):
    """An entity as the SDK gives it: columns, and metadata beside them."""

    metadata: Mapping[str, Any] = _METADATA


class Pager:
    """A page iterator of the SDK over pages cut beforehand, with a continuation after all but the last."""

    def __init__(self, pages: Sequence[Sequence[Entity]], start: int) -> None:
        self._pages = pages
        self._next = start
        self.continuation_token: int | None = start

    async def __anext__(self) -> AsyncIterator[Entity]:
        page = self._pages[self._next]
        self._next += 1
        self.continuation_token = self._next if self._next < len(self._pages) else None
        return _async(page)


async def _async(page: Sequence[Entity]) -> AsyncIterator[Entity]:
    for entity in page:
        yield entity


class CutConnections(Connections):
    """Connections to a table whose queries answer the given pages; `asked` counts the requests."""

    def __init__(self, *pages: Sequence[Entity], date: str | None = None) -> None:
        super().__init__(StorageAddress(), BusAddress())
        self._pages = pages
        self._date = date
        self.asked = 0

    def tables(self) -> Any:
        return self

    def get_table_client(self, _name: str) -> Any:
        return self

    def query_entities(self, _filter: str, **_options: object) -> Any:
        return self

    def by_page(self, continuation: int | None) -> Pager:
        self.asked += 1
        return Pager(self._pages, continuation or 0)

    async def get_entity(self, *_keys: str, raw_response_hook: Any) -> Entity:
        headers = {} if self._date is None else {"Date": self._date}
        raw_response_hook(SimpleNamespace(http_response=SimpleNamespace(headers=headers)))
        return Entity(a=1)


def _open(number: int) -> Entity:
    return Entity(PartitionKey="00", RowKey=f"job_{number}:0", job_id=f"job_{number}", release=0, nudges=0)


def _listed(case: Case, key: str) -> Entity:
    return Entity(PartitionKey="list:open", RowKey=key, record=to_text(case))


def _numbered(category: Category) -> Iterator[Entity]:
    """More listed cases than anyone reads."""
    return (_listed(a_case(f"job_{n}", category=category), f"{n:06d}") for n in range(5000))


async def test_short_and_empty_pages_do_not_end_a_query() -> None:
    connections = CutConnections([], [_open(1)], [], [], [_open(2), _open(3)], [])
    found = [entry.job_id async for entry in OpenTable(connections).entries()]
    assert found == ["job_1", "job_2", "job_3"]
    assert connections.asked == 6


async def test_the_list_of_cases_goes_on_behind_short_and_empty_pages() -> None:
    cases = [_listed(a_case(f"job_{n}"), f"{n}") for n in range(3)]
    page = await CasesTable(CutConnections([], cases[:1], [], cases[1:]), SystemRandomness()).page(
        CaseFilter(), limit=5, cursor=None
    )
    assert [case.job_id for case in page.cases] == ["job_0", "job_1", "job_2"]
    assert page.cursor is None


async def test_a_filter_that_finds_nothing_reads_a_bounded_number_of_rows_and_gives_a_cursor() -> None:
    rows = list(_numbered(Category.CRASHED))
    pages = [rows[n : n + 200] for n in range(0, 5000, 200)]
    connections = CutConnections(*pages)
    wanted = CaseFilter(category=Category.FIX_INPUT)
    page = await CasesTable(connections, SystemRandomness()).page(wanted, limit=10, cursor=None)
    assert page.cases == ()
    assert page.cursor is not None
    assert connections.asked == 5


async def test_a_page_of_cases_reads_one_page_of_rows_however_many_there_are() -> None:
    rows = list(_numbered(Category.CRASHED))
    connections = CutConnections(rows[:11], rows[11:])
    page = await CasesTable(connections, SystemRandomness()).page(CaseFilter(), limit=10, cursor=None)
    assert len(page.cases) == 10
    assert page.cursor is not None
    assert connections.asked == 1


async def test_the_time_of_an_answer_is_its_date_header() -> None:
    table = Table(CutConnections(date="Mon, 27 Jul 2026 10:15:00 GMT"), "jobs")
    timed = await table.get_timed("a", "b")
    assert timed is not None
    assert timed[1] == datetime(2026, 7, 27, 10, 15, tzinfo=UTC)


@pytest.mark.parametrize("date", [None, "", "yesterday"])
async def test_an_answer_without_a_time_judges_nothing(date: str | None) -> None:
    with pytest.raises(StorageUnavailable, match="time"):
        await Table(CutConnections(date=date), "jobs").get_timed("a", "b")
