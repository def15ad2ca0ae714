"""The slot store: one partition a tenant, in the table `limits`.

slot    RowKey = slot:{number}     held until released or its lease ends
meter   RowKey = meter
place   RowKey = place:{job id}    one job's time to start; written together with the meter
"""

from collections.abc import Sequence
from dataclasses import replace

from shared.adapters.connections import Connections
from shared.adapters.guard import Answered
from shared.adapters.limits import check_key
from shared.adapters.tables import Change, Table
from shared.limits.ports import Slot, StoredMeter
from shared.limits.rates import Meter, Place
from shared.ports import Randomness
from shared.records import from_text, to_text

_METER = "meter"
_SLOTS = "PartitionKey eq @tenant and RowKey ge 'slot:' and RowKey lt 'slot;'"


class SlotsTable:
    """SlotStore over the table `limits`."""

    def __init__(self, connections: Connections, randomness: Randomness, table: str = "limits") -> None:
        self._table = Table(connections, table)
        self._randomness = randomness

    async def slots(self, tenant: str) -> Sequence[Slot]:
        pages = self._table.query(_SLOTS, {"tenant": _partition(tenant)})
        found: list[Slot] = []
        while pages.more:
            found.extend(
                replace(from_text(Slot, row.columns["record"]), version=row.etag)
                for row in await pages.next()
            )
        return found

    async def take(self, tenant: str, slot: Slot, instead_of: Slot | None) -> Slot | None:
        partition, row = _partition(tenant), _slot_key(slot)
        version = None if instead_of is None else instead_of.version
        columns = {"PartitionKey": partition, "RowKey": row, "record": to_text(replace(slot, version=None))}
        try:
            written = await self._table.transact(
                [Change(columns=columns, create=version is None, etag=version)]
            )
        except Answered:
            found = await self._table.get(partition, row)
            if found is None or from_text(Slot, found.columns["record"]).token != slot.token:
                return None
            return replace(slot, version=found.etag)
        return replace(slot, version=written.etag)

    async def release(self, tenant: str, slot: Slot) -> None:
        await self._table.delete(_partition(tenant), _slot_key(slot), etag=slot.version)

    async def meter(self, tenant: str) -> StoredMeter:
        found = await self._table.get(_partition(tenant), _METER)
        if found is None:
            return StoredMeter(meter=Meter(), version=None)
        return StoredMeter(meter=from_text(Meter, found.columns["record"]), version=found.etag)

    async def advance(
        self, tenant: str, meter: Meter, version: str | None, job_id: str | None = None
    ) -> bool:
        partition, token = _partition(tenant), self._randomness.token()
        columns = {
            "PartitionKey": partition,
            "RowKey": _METER,
            "record": to_text(meter),
            "written_by": token,
        }
        changes = [Change(columns=columns, create=version is None, etag=version)]
        if job_id is not None:
            place = {
                "PartitionKey": partition,
                "RowKey": _place_key(job_id),
                "record": to_text(Place(start=meter.next_start, asked=meter.asked)),
            }
            changes.append(Change(columns=place))
        try:
            await self._table.transact(changes)
        except Answered:
            found = await self._table.get(partition, _METER)
            return found is not None and found.columns.get("written_by") == token
        return True

    async def place(self, tenant: str, job_id: str) -> Place | None:
        found = await self._table.get(_partition(tenant), _place_key(job_id))
        return None if found is None else from_text(Place, found.columns["record"])

    async def leave(self, tenant: str, job_id: str) -> None:
        await self._table.delete(_partition(tenant), _place_key(job_id))


def _partition(tenant: str) -> str:
    return check_key(f"slots:{tenant}", "the tenant")


def _slot_key(slot: Slot) -> str:
    return f"slot:{slot.number:04d}"


def _place_key(job_id: str) -> str:
    return check_key(f"place:{job_id}", "the place of a job")
