"""Jobs and their rows as table entities: one partition a job, the record as JSON beside readable columns.

The columns are for people in a storage browser; only `record`, `data` and `content` are ever read back.
"""

from collections.abc import Mapping
from typing import Any

from shared.adapters.limits import check_key
from shared.jobs import Job
from shared.ports import Row, RowKind
from shared.records import RecordUnreadable, data_from_text, data_to_text, from_text, to_text

Entity = dict[str, str | int | bytes]
JOB_KEY = "job"


def job_entity(job: Job) -> Entity:
    """The job's own row. Raises ValueError for a job id that no table takes."""
    return {
        "PartitionKey": check_key(job.job_id, "the job id"),
        "RowKey": JOB_KEY,
        "record": to_text(job),
        "state": job.state.value,
        "task_type": job.task_type,
        "source": job.source,
        "release": job.release,
        "turn": job.turn,
    }


def row_key(kind: RowKind, key: str) -> str:
    return f"{kind.value}:{key}"


def row_entity(job_id: str, row: Row) -> Entity:
    """A row beside the job. Raises ValueError for keys that no table takes."""
    entity: Entity = {
        "PartitionKey": check_key(job_id, "the job id"),
        "RowKey": check_key(row_key(row.kind, row.key), f"the key of a {row.kind} row"),
        "data": data_to_text(row.data),
    }
    if row.content is not None:
        entity["content"] = row.content
    return entity


def read_job(entity: Mapping[str, Any]) -> Job:
    """The job in its row. Raises RecordUnreadable."""
    record = entity.get("record")
    if not isinstance(record, str):
        raise RecordUnreadable("A stored job has no record.")
    return from_text(Job, record)


def read_row(entity: Mapping[str, Any], version: str | None = None) -> Row:
    """The row in its entity. Raises RecordUnreadable."""
    kind, _, key = str(entity["RowKey"]).partition(":")
    content = entity.get("content")
    if content is not None and not isinstance(content, bytes):
        raise RecordUnreadable("A stored row's content is not bytes.")
    data = data_from_text(str(entity.get("data")))
    return Row(kind=RowKind(kind), key=key, data=data, content=content, version=version)
