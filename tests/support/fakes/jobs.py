"""The job store in memory."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from shared.adapters.limits import check_key, check_row, check_transaction
from shared.adapters.table_rows import job_entity, row_entity
from shared.errors import Conflict
from shared.jobs import Job
from shared.ports import Clock, Row, RowKind, Snapshot
from shared.records import data_from_text, data_to_text, from_text, to_text
from tests.support.fakes.faults import Faults


@dataclass(slots=True)
class _Partition:
    record: str | None = None
    version: int = 0
    rows: dict[tuple[RowKind, str], tuple[str, bytes | None]] = field(default_factory=dict)
    versions: Counter[tuple[RowKind, str]] = field(default_factory=Counter)  # of rows that are gone too


class FakeJobStore(Faults):
    """Reads and writes are atomic; `read_at` has whole seconds, as the storage's own clock does."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._partitions: dict[str, _Partition] = {}

    async def insert(self, job: Job, rows: Sequence[Row]) -> bool:
        _check(job, rows)
        async with self._call("insert"):
            partition = self._partitions.setdefault(job.job_id, _Partition())
            inserted = partition.record is None
            if inserted:
                _write(partition, job, rows)
        return inserted

    async def load(self, job_id: str) -> Snapshot | None:
        async with self._call("load"):
            partition = self._partitions.get(job_id)
            return None if partition is None or partition.record is None else self._snapshot(partition)

    async def commit(self, snapshot: Snapshot, job: Job, rows: Sequence[Row] = ()) -> Snapshot:
        _check(job, rows)
        if job.job_id != snapshot.job.job_id:
            raise ValueError("A commit cannot change a job's id.")
        async with self._call("commit"):
            partition = self._partitions.get(job.job_id)
            if partition is None or partition.record is None or str(partition.version) != snapshot.version:
                raise Conflict(f"{job.job_id} changed since it was read.")
            _write(partition, job, rows)
            return self._snapshot(partition)

    async def add_row(self, job_id: str, row: Row) -> None:
        check_key(job_id, "the job id")
        _check_rows(job_id, [row])
        async with self._call("add_row"):
            _write_row(self._partitions.setdefault(job_id, _Partition()), row)

    async def replace_row(self, job_id: str, row: Row, version: str) -> str | None:
        check_key(job_id, "the job id")
        _check_rows(job_id, [row])
        async with self._call("replace_row"):
            partition, key = self._partitions.setdefault(job_id, _Partition()), (row.kind, row.key)
            now = _read_row(partition, key) if key in partition.rows else None
            replaced = now is not None and now.version == version
            if replaced:
                _write_row(partition, row)
            same = now is not None and now == row
        return str(partition.versions[key]) if replaced or same else None

    async def rows(self, job_id: str, kind: RowKind) -> list[Row]:
        async with self._call("rows"):
            partition = self._partitions.get(job_id, _Partition())
            return [_read_row(partition, key) for key in sorted(partition.rows) if key[0] is kind]

    async def row(self, job_id: str, kind: RowKind, key: str) -> Row | None:
        async with self._call("row"):
            partition = self._partitions.get(job_id, _Partition())
            return _read_row(partition, (kind, key)) if (kind, key) in partition.rows else None

    async def delete_row(self, job_id: str, kind: RowKind, key: str) -> None:
        async with self._call("delete_row"):
            self._partitions.get(job_id, _Partition()).rows.pop((kind, key), None)

    def all_jobs(self) -> list[Job]:
        """Every stored job, for assertions."""
        return [from_text(Job, p.record) for p in self._partitions.values() if p.record is not None]

    def job(self, job_id: str) -> Job:
        """The stored job, for assertions; KeyError when there is none."""
        record = self._partitions[job_id].record
        if record is None:
            raise KeyError(job_id)
        return from_text(Job, record)

    def _snapshot(self, partition: _Partition) -> Snapshot:
        assert partition.record is not None
        job = from_text(Job, partition.record)
        read_at = self._clock.now().replace(microsecond=0)
        return Snapshot(job=job, version=str(partition.version), read_at=read_at)


def _check(job: Job, rows: Sequence[Row]) -> None:
    check_transaction([job_entity(job), *_check_rows(job.job_id, rows)])


def _check_rows(job_id: str, rows: Sequence[Row]) -> list[dict[str, str | int | bytes]]:
    for row in rows:
        check_row(row)
    entities = [row_entity(job_id, row) for row in rows]
    check_transaction(entities)
    return entities


def _write(partition: _Partition, job: Job, rows: Sequence[Row]) -> None:
    partition.record = to_text(job)
    partition.version += 1
    for row in rows:
        _write_row(partition, row)


def _write_row(partition: _Partition, row: Row) -> None:
    partition.rows[(row.kind, row.key)] = (data_to_text(row.data), row.content)
    partition.versions[row.kind, row.key] += 1


def _read_row(partition: _Partition, key: tuple[RowKind, str]) -> Row:
    data, content = partition.rows[key]
    version = str(partition.versions[key])
    return Row(kind=key[0], key=key[1], data=data_from_text(data), content=content, version=version)
