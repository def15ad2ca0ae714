"""The open index: what is not final and has no filed case, in shards so that no partition runs hot."""

import hashlib
from collections.abc import AsyncIterator
from datetime import datetime

from shared.adapters.connections import Connections
from shared.adapters.limits import check_key, key_is_valid
from shared.adapters.tables import Found, Table
from shared.ports import OpenEntry

_SHARDS = 16


class OpenTable:
    """OpenIndex over the table `open`; memory holds one page at a time."""

    def __init__(self, connections: Connections, table: str = "open", *, page_size: int = 500) -> None:
        self._table = Table(connections, table)
        self._page_size = page_size

    async def put(self, job_id: str, release: int) -> None:
        check_key(job_id, "the job id")
        await self._table.put({**_keys(job_id, release), "job_id": job_id, "release": release, "nudges": 0})

    async def remove(self, job_id: str, release: int, *, version: str | None = None) -> None:
        if key_is_valid(job_id):
            keys = _keys(job_id, release)
            await self._table.delete(keys["PartitionKey"], keys["RowKey"], etag=version)

    async def entries(self) -> AsyncIterator[OpenEntry]:
        pages = self._table.query("PartitionKey ge @first", {"first": _shard(0)}, size=self._page_size)
        while pages.more:
            for found in await pages.next():
                yield _entry(found)

    async def note_nudge(self, entry: OpenEntry, at: datetime) -> None:
        counted = {**_keys(entry.job_id, entry.release), "nudges": entry.nudges + 1, "nudged_at": at}
        await self._table.merge(counted, etag=entry.version)


def _keys(job_id: str, release: int) -> dict[str, str]:
    shard = hashlib.sha256(job_id.encode()).digest()[0] % _SHARDS
    return {"PartitionKey": _shard(shard), "RowKey": f"{job_id}:{release}"}


def _shard(number: int) -> str:
    return f"{number:02x}"


def _entry(found: Found) -> OpenEntry:
    columns = found.columns
    return OpenEntry(
        job_id=columns["job_id"],
        release=columns["release"],
        written_at=found.written_at,
        version=found.etag,
        nudges=columns.get("nudges", 0),
        nudged_at=columns.get("nudged_at"),
    )
