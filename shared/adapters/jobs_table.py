"""The job store: one partition a job, every transition one entity group transaction.

A write whose answer is lost is repeated by the guard, so each carries a random token in the job's row: when
the repeat meets a conflict, the token tells whether it was this very write that came first.
"""

from collections.abc import Sequence
from datetime import datetime

from shared.adapters.connections import Connections
from shared.adapters.guard import Answered
from shared.adapters.limits import check_row, check_transaction, key_is_valid
from shared.adapters.table_rows import JOB_KEY, Entity, job_entity, read_job, read_row, row_entity, row_key
from shared.adapters.tables import CONFLICT, Change, Found, Table
from shared.errors import Conflict, StorageUnavailable
from shared.jobs import Job
from shared.ports import Randomness, Row, RowKind, Snapshot

_INSERTED_BY = "insert_token"
_COMMITTED_BY = "commit_token"
_OF_KIND = "PartitionKey eq @job and RowKey ge @first and RowKey lt @end"


class JobsTable:
    """JobStore over the table `jobs`."""

    def __init__(self, connections: Connections, randomness: Randomness, table: str = "jobs") -> None:
        self._table = Table(connections, table)
        self._randomness = randomness

    async def insert(self, job: Job, rows: Sequence[Row]) -> bool:
        token = self._randomness.token()
        entities = _entities(job, rows, {_INSERTED_BY: token, _COMMITTED_BY: token})
        try:
            await self._table.transact([Change(columns=entities[0], create=True), *_changes(entities[1:])])
        except Answered as answer:
            if answer.status != CONFLICT:
                raise StorageUnavailable("The table storage lost the table of jobs.") from None
            found = await self._table.get(job.job_id, JOB_KEY)
            return found is not None and found.columns.get(_INSERTED_BY) == token
        return True

    async def load(self, job_id: str) -> Snapshot | None:
        timed = await self._get(job_id)
        if timed is None:
            return None
        found, read_at = timed
        return Snapshot(job=read_job(found.columns), version=found.etag, read_at=read_at)

    async def commit(self, snapshot: Snapshot, job: Job, rows: Sequence[Row] = ()) -> Snapshot:
        if job.job_id != snapshot.job.job_id:
            raise ValueError("A commit cannot change a job's id.")
        token = self._randomness.token()
        entities = _entities(job, rows, {_COMMITTED_BY: token})
        guarded = Change(columns=entities[0], etag=snapshot.version)
        try:
            written = await self._table.transact([guarded, *_changes(entities[1:])])
        except Answered:
            timed = await self._get(job.job_id)
            if timed is None or timed[0].columns.get(_COMMITTED_BY) != token:
                raise Conflict(f"{job.job_id} changed since it was read.") from None
            return Snapshot(job=job, version=timed[0].etag, read_at=timed[1])
        return Snapshot(job=job, version=written.etag, read_at=written.written_at)

    async def add_row(self, job_id: str, row: Row) -> None:
        check_row(row)
        entity = row_entity(job_id, row)
        check_transaction([entity])
        await self._table.put(entity)

    async def replace_row(self, job_id: str, row: Row, version: str) -> str | None:
        check_row(row)
        entity = row_entity(job_id, row)
        check_transaction([entity])
        written = await self._table.replace(entity, version)
        if written is not None:
            return written
        now = await self.row(job_id, row.kind, row.key)
        return now.version if now == row else None

    async def rows(self, job_id: str, kind: RowKind) -> list[Row]:
        if not key_is_valid(job_id):
            return []
        first = row_key(kind, "")
        end = first[:-1] + chr(ord(first[-1]) + 1)
        pages = self._table.query(_OF_KIND, {"job": job_id, "first": first, "end": end})
        found: list[Row] = []
        while pages.more:
            found.extend(read_row(entity.columns, entity.etag) for entity in await pages.next())
        return found

    async def row(self, job_id: str, kind: RowKind, key: str) -> Row | None:
        wanted = row_key(kind, key)
        if not (key_is_valid(job_id) and key_is_valid(wanted)):
            return None
        found = await self._table.get(job_id, wanted)
        return None if found is None else read_row(found.columns, found.etag)

    async def delete_row(self, job_id: str, kind: RowKind, key: str) -> None:
        wanted = row_key(kind, key)
        if key_is_valid(job_id) and key_is_valid(wanted):
            await self._table.delete(job_id, wanted)

    async def _get(self, job_id: str) -> tuple[Found, datetime] | None:
        return await self._table.get_timed(job_id, JOB_KEY) if key_is_valid(job_id) else None


def _entities(job: Job, rows: Sequence[Row], tokens: Entity) -> list[Entity]:
    for row in rows:
        check_row(row)
    entities = [{**job_entity(job), **tokens}, *(row_entity(job.job_id, row) for row in rows)]
    check_transaction(entities)
    return entities


def _changes(entities: Sequence[Entity]) -> list[Change]:
    return [Change(columns=entity) for entity in entities]
