"""The limits' stores in memory."""

from collections.abc import Sequence
from dataclasses import replace

from shared.adapters.limits import check_key
from shared.limits.breaker import CLOSED, Breaker
from shared.limits.budget import Shard
from shared.limits.ports import Slot, StoredBreaker, StoredMeter, StoredShard
from shared.limits.rates import Meter, Place
from shared.records import from_text, to_text
from tests.support.fakes.faults import Faults


class _Versions(Faults):
    """Base: each write has a version of its own."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 0

    def _next(self) -> str:
        self._count += 1
        return f"v{self._count}"


class FakeBreakerStore(_Versions):
    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[str, tuple[str, str]] = {}

    async def load(self, provider: str) -> StoredBreaker:
        check_key(provider, "the provider")
        async with self._call("load"):
            found = self._rows.get(provider)
        if found is None:
            return StoredBreaker(breaker=CLOSED, version=None)
        return StoredBreaker(breaker=from_text(Breaker, found[0]), version=found[1])

    async def write(self, provider: str, breaker: Breaker, version: str | None) -> StoredBreaker | None:
        check_key(provider, "the provider")
        async with self._call("write"):
            if self._rows.get(provider, (None, None))[1] != version:
                return None
            written = self._next()
            self._rows[provider] = (to_text(breaker), written)
        return StoredBreaker(breaker=breaker, version=written)


class FakeBudgetStore(_Versions):
    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[tuple[str, int], tuple[str, str]] = {}

    async def shards(self, counter: str) -> Sequence[StoredShard]:
        check_key(counter, "the counter")
        async with self._call("shards"):
            return [
                StoredShard(shard=from_text(Shard, text), version=version)
                for (of, _), (text, version) in sorted(self._rows.items())
                if of == counter
            ]

    async def write(self, counter: str, changed: Sequence[StoredShard]) -> bool:
        check_key(counter, "the counter")
        async with self._call("write"):
            for one in changed:
                if self._rows.get((counter, one.shard.number), (None, None))[1] != one.version:
                    return False
            for one in changed:
                self._rows[counter, one.shard.number] = (to_text(one.shard), self._next())
        return True

    async def forget(self, counter: str) -> None:
        check_key(counter, "the counter")
        async with self._call("forget"):
            for row in [row for row in self._rows if row[0] == counter]:
                del self._rows[row]

    def counters(self) -> set[str]:
        """Every counter that was written, for assertions."""
        return {counter for counter, _ in self._rows}

    def spent(self, counter: str) -> tuple[int, int]:
        """Tokens and micros of a counter, for assertions."""
        shards = [from_text(Shard, text) for (of, _), (text, _) in self._rows.items() if of == counter]
        return sum(shard.tokens for shard in shards), sum(shard.micros for shard in shards)


class FakeSlotStore(_Versions):
    def __init__(self) -> None:
        super().__init__()
        self._slots: dict[tuple[str, int], Slot] = {}
        self._meters: dict[str, StoredMeter] = {}
        self._places: dict[tuple[str, str], Place] = {}

    async def slots(self, tenant: str) -> Sequence[Slot]:
        check_key(tenant, "the tenant")
        async with self._call("slots"):
            return [slot for (of, _), slot in sorted(self._slots.items()) if of == tenant]

    async def take(self, tenant: str, slot: Slot, instead_of: Slot | None) -> Slot | None:
        async with self._call("take"):
            there = self._slots.get((tenant, slot.number))
            if (there and there.version) != (instead_of and instead_of.version):
                return None
            held = self._slots[tenant, slot.number] = replace(slot, version=self._next())
        return held

    async def release(self, tenant: str, slot: Slot) -> None:
        async with self._call("release"):
            there = self._slots.get((tenant, slot.number))
            if there is not None and there.version == slot.version:
                del self._slots[tenant, slot.number]

    async def meter(self, tenant: str) -> StoredMeter:
        check_key(tenant, "the tenant")
        async with self._call("meter"):
            return self._meters.get(tenant, StoredMeter(meter=Meter(), version=None))

    async def advance(
        self, tenant: str, meter: Meter, version: str | None, job_id: str | None = None
    ) -> bool:
        async with self._call("advance"):
            there = self._meters.get(tenant)
            if (there and there.version) != version:
                return False
            self._meters[tenant] = StoredMeter(meter=meter, version=self._next())
            if job_id is not None:
                self._places[tenant, job_id] = Place(start=meter.next_start, asked=meter.asked)
        return True

    async def place(self, tenant: str, job_id: str) -> Place | None:
        async with self._call("place"):
            return self._places.get((tenant, job_id))

    async def leave(self, tenant: str, job_id: str) -> None:
        async with self._call("leave"):
            self._places.pop((tenant, job_id), None)
