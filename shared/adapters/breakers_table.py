"""The breaker store: one row a provider, in the table `limits`."""

from shared.adapters.connections import Connections
from shared.adapters.guard import Answered
from shared.adapters.limits import check_key
from shared.adapters.tables import Change, Table
from shared.limits.breaker import CLOSED, Breaker
from shared.limits.ports import StoredBreaker
from shared.ports import Randomness
from shared.records import from_text, to_text

_PARTITION = "breaker"


class BreakersTable:
    """BreakerStore over the table `limits`."""

    def __init__(self, connections: Connections, randomness: Randomness, table: str = "limits") -> None:
        self._table = Table(connections, table)
        self._randomness = randomness

    async def load(self, provider: str) -> StoredBreaker:
        found = await self._table.get(_PARTITION, check_key(provider, "the provider"))
        if found is None:
            return StoredBreaker(breaker=CLOSED, version=None)
        return StoredBreaker(breaker=from_text(Breaker, found.columns["record"]), version=found.etag)

    async def write(self, provider: str, breaker: Breaker, version: str | None) -> StoredBreaker | None:
        token = self._randomness.token()
        columns = {
            "PartitionKey": _PARTITION,
            "RowKey": check_key(provider, "the provider"),
            "record": to_text(breaker),
            "written_by": token,
        }
        try:
            written = await self._table.transact(
                [Change(columns=columns, create=version is None, etag=version)]
            )
        except Answered:
            found = await self._table.get(_PARTITION, provider)
            if found is None or found.columns.get("written_by") != token:
                return None
            return StoredBreaker(breaker=breaker, version=found.etag)
        return StoredBreaker(breaker=breaker, version=written.etag)
