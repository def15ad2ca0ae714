"""The budget store: one partition a counter, one row a shard, in the table `limits`."""

from collections.abc import Sequence

from shared.adapters.connections import Connections
from shared.adapters.guard import Answered
from shared.adapters.limits import check_key
from shared.adapters.tables import Change, Table
from shared.limits.budget import Shard
from shared.limits.ports import StoredShard
from shared.records import from_text, to_text


class BudgetsTable:
    """BudgetStore over the table `limits`. Shards that are written together change together."""

    def __init__(self, connections: Connections, table: str = "limits") -> None:
        self._table = Table(connections, table)

    async def shards(self, counter: str) -> Sequence[StoredShard]:
        pages = self._table.query("PartitionKey eq @counter", {"counter": _partition(counter)})
        found: list[StoredShard] = []
        while pages.more:
            found.extend(
                StoredShard(shard=from_text(Shard, row.columns["record"]), version=row.etag)
                for row in await pages.next()
            )
        return found

    async def write(self, counter: str, changed: Sequence[StoredShard]) -> bool:
        partition = _partition(counter)
        changes = [
            Change(
                columns={
                    "PartitionKey": partition,
                    "RowKey": _row(one.shard.number),
                    "record": to_text(one.shard),
                },
                create=one.version is None,
                etag=one.version,
            )
            for one in changed
        ]
        try:
            await self._table.transact(changes)
        except Answered:
            return False
        return True

    async def forget(self, counter: str) -> None:
        partition = _partition(counter)
        for stored in await self.shards(counter):
            await self._table.delete(partition, _row(stored.shard.number))


def _row(number: int) -> str:
    return f"{number:04d}"


def _partition(counter: str) -> str:
    return check_key(f"budget:{counter}", "the counter")
