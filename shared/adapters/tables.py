"""One table, in the few operations that the stores need.

A table that does not exist is made at first use, at no cost afterwards; in Azure the infrastructure makes it.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from azure.core import MatchConditions
from azure.core.exceptions import ResourceExistsError
from azure.core.pipeline import PipelineResponse
from azure.data.tables import UpdateMode
from azure.data.tables.aio import TableClient

from shared.adapters.connections import Connections
from shared.adapters.guard import Answered
from shared.errors import StorageUnavailable

T = TypeVar("T")
Columns = Mapping[str, Any]
NOT_FOUND, CONFLICT, CHANGED = 404, 409, 412
PAGE = 1000  # the most that the service returns at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An entity as it was read; `written_at` is the storage's own time."""

    columns: Columns
    etag: str
    written_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One operation of a transaction: create, upsert (replace), or merge if unchanged since `etag`."""

    columns: Columns
    create: bool = False
    etag: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a transaction gave: the ETag of its first entity, and the storage's own time."""

    etag: str
    written_at: datetime


class _DateHook:
    """Takes the `Date` header of an answer: the only clock that judges leases."""

    def __init__(self) -> None:
        self.text: str | None = None

    def __call__(self, response: PipelineResponse[Any, Any]) -> None:
        self.text = response.http_response.headers.get("Date")

    def time(self) -> datetime:
        try:
            return parsedate_to_datetime(self.text or "").astimezone(UTC)
        except ValueError:
            raise StorageUnavailable("The table storage answered without its time.") from None


class Table:
    def __init__(self, connections: Connections, name: str) -> None:
        self._connections = connections
        self._name = name

    async def get(self, partition: str, row: str) -> Found | None:
        try:
            entity = await self._call(lambda table: table.get_entity(partition, row), {NOT_FOUND})
        except Answered:
            return None
        return _found(entity)

    async def get_timed(self, partition: str, row: str) -> tuple[Found, datetime] | None:
        """The entity, and the storage's own time of the answer."""
        date = _DateHook()
        try:
            entity = await self._call(
                lambda table: table.get_entity(partition, row, raw_response_hook=date), {NOT_FOUND}
            )
        except Answered:
            return None
        return _found(entity), date.time()

    async def transact(self, changes: Sequence[Change]) -> Written:
        """Apply all or none. Raises Answered 404, 409 or 412 when a condition does not hold."""
        if len(changes) == 1 and not changes[0].create:
            return await self._write(changes[0])
        date = _DateHook()
        operations = [_operation(change) for change in changes]
        results = await self._call(
            lambda table: table.submit_transaction(operations, raw_response_hook=date),
            {NOT_FOUND, CONFLICT, CHANGED},
        )
        return Written(etag=str(results[0]["etag"]), written_at=date.time())

    async def _write(self, change: Change) -> Written:
        """One change alone, which as a transaction costs the SDK three times as much.

        Not for what is to be created: the SDK keeps back the code of a missing table there.
        """
        date, columns = _DateHook(), dict(change.columns)
        hooked: dict[str, Any] = {"raw_response_hook": date}

        def work(table: TableClient) -> Awaitable[Mapping[str, Any]]:
            if change.etag is None:
                return table.upsert_entity(columns, mode=UpdateMode.REPLACE, **hooked)
            return table.update_entity(columns, mode=UpdateMode.MERGE, **_condition(change.etag), **hooked)

        written = await self._call(work, {NOT_FOUND, CONFLICT, CHANGED})
        return Written(etag=str(written["etag"]), written_at=date.time())

    async def create(self, columns: Columns) -> str | None:
        """The new entity's ETag; None when it exists (also by this very call, if its answer was lost)."""
        try:
            return (await self.transact([Change(columns=columns, create=True)])).etag
        except Answered as answer:
            if answer.status != CONFLICT:
                raise StorageUnavailable("The table storage lost a table while it was written.") from None
        return None

    async def put(self, columns: Columns) -> None:
        """Insert or replace."""
        await self._call(lambda table: table.upsert_entity(dict(columns), mode=UpdateMode.REPLACE))

    async def merge(self, columns: Columns, etag: str | None = None) -> bool:
        """Set these columns of an entity that is there, and unchanged since `etag`; False if it is not."""
        return await self._update(columns, UpdateMode.MERGE, etag) is not None

    async def replace(self, columns: Columns, etag: str) -> str | None:
        """Replace an entity that is unchanged since `etag`, and return its new ETag; None if it is not."""
        return await self._update(columns, UpdateMode.REPLACE, etag)

    async def _update(self, columns: Columns, mode: UpdateMode, etag: str | None) -> str | None:
        condition = _condition(etag)
        try:
            written = await self._call(
                lambda table: table.update_entity(dict(columns), mode=mode, **condition), {NOT_FOUND, CHANGED}
            )
        except Answered:
            return None
        return str(written["etag"])

    async def delete(self, partition: str, row: str, etag: str | None = None) -> None:
        """Delete, if there and unchanged since `etag`."""
        condition = _condition(etag)
        try:
            await self._call(
                lambda table: table.delete_entity(partition, row, **condition), {NOT_FOUND, CHANGED}
            )
        except Answered:
            return

    def query(self, filter_text: str, parameters: Mapping[str, Any], *, size: int = PAGE) -> "Pages":
        """The entities of a query, page by page, `size` at most in each."""
        return Pages(self, filter_text, parameters, size)

    async def _call(self, work: Callable[[TableClient], Awaitable[T]], expect: Collection[int] = ()) -> T:
        table = self._connections.table(self._name)
        guard = self._connections.table_guard
        try:
            return await guard.call(lambda: work(table), expect={NOT_FOUND, *expect})
        except Answered as answer:
            if answer.code != "TableNotFound":
                guard.check_expected(answer, expect)
                raise
        await guard.call(lambda: _make(table))
        return await guard.call(lambda: work(table), expect=expect)


class Pages:
    """Reads a query's pages. Azure may return short and empty pages before the last one."""

    def __init__(self, table: Table, filter_text: str, parameters: Mapping[str, Any], size: int) -> None:
        self._table = table
        self._filter = filter_text
        self._parameters = dict(parameters)
        self._size = min(size, PAGE)
        self._continuation: Any = None
        self.more = True

    async def next(self) -> list[Found]:
        """The next page, possibly empty; `more` tells whether another may follow."""
        try:
            return await self._table._call(self._read, {NOT_FOUND})  # noqa: SLF001  the other half of Table
        except Answered:
            self.more = False
            return []

    async def _read(self, table: TableClient) -> list[Found]:
        pager: Any = table.query_entities(
            self._filter, parameters=self._parameters, results_per_page=self._size
        ).by_page(self._continuation)
        page = [_found(entity) async for entity in await anext(pager)]
        self._continuation = pager.continuation_token
        self.more = self._continuation is not None
        return page


async def _make(table: TableClient) -> None:
    try:
        await table.create_table()
    except ResourceExistsError:
        return


def _operation(change: Change) -> Any:
    if change.create:
        return ("create", dict(change.columns))
    if change.etag is not None:
        return ("update", dict(change.columns), {"mode": UpdateMode.MERGE, **_condition(change.etag)})
    return ("upsert", dict(change.columns), {"mode": UpdateMode.REPLACE})


def _condition(etag: str | None) -> dict[str, Any]:
    return {} if etag is None else {"etag": etag, "match_condition": MatchConditions.IfNotModified}


def _found(entity: Any) -> Found:
    metadata = entity.metadata
    return Found(columns=entity, etag=str(metadata["etag"]), written_at=metadata["timestamp"])
