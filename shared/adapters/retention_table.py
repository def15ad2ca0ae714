"""The index of ended jobs: a partition for each day, by what is left, so that no day is read too early."""

from collections.abc import AsyncIterator
from datetime import date

from shared.adapters.connections import Connections
from shared.adapters.limits import check_key
from shared.adapters.tables import Table
from shared.retention.ports import EndedJob, Left

_BEFORE = "PartitionKey ge @first and PartitionKey lt @end"


class RetentionTable:
    """RetentionIndex over the table `ended`; memory holds one page at a time."""

    def __init__(self, connections: Connections, table: str = "ended", *, page_size: int = 500) -> None:
        self._table = Table(connections, table)
        self._page_size = page_size

    async def put(self, ended: EndedJob) -> None:
        check_key(ended.job_id, "the job id")
        await self._table.put({"PartitionKey": _partition(ended.day, ended.left), "RowKey": ended.job_id})

    async def remove(self, ended: EndedJob) -> None:
        await self._table.delete(_partition(ended.day, ended.left), ended.job_id)

    async def ended_before(self, day: date, left: Left) -> AsyncIterator[EndedJob]:
        parameters = {"first": _partition(date.min, left), "end": _partition(day, left)}
        pages = self._table.query(_BEFORE, parameters, size=self._page_size)
        while pages.more:
            for found in await pages.next():
                when = date.fromisoformat(str(found.columns["PartitionKey"]).rpartition(":")[2])
                yield EndedJob(job_id=str(found.columns["RowKey"]), day=when, left=left)


def _partition(day: date, left: Left) -> str:
    return f"{left.value}:{day.isoformat()}"
