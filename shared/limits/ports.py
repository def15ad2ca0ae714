"""What the limits need of storage. All raise StorageUnavailable when it does not answer in time.

Each write is conditional. The repeat of a write whose answer was lost counts as done; only a budget's user
looks for that himself, by the tokens in the shards.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from shared.limits.breaker import Breaker
from shared.limits.budget import Shard
from shared.limits.rates import Meter, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBreaker:
    """A breaker as it was read; `version` is None when nothing is stored."""

    breaker: Breaker
    version: str | None


class BreakerStore(Protocol):
    async def load(self, provider: str) -> StoredBreaker: ...

    async def write(self, provider: str, breaker: Breaker, version: str | None) -> StoredBreaker | None:
        """Write if unchanged since `version`; None if it changed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredShard:
    """One shard of a counter as it was read; `version` is None when nothing is stored."""

    shard: Shard
    version: str | None


class BudgetStore(Protocol):
    async def shards(self, counter: str) -> Sequence[StoredShard]:
        """The shards that are stored, by number; those that are not are empty."""
        ...

    async def write(self, counter: str, changed: Sequence[StoredShard]) -> bool:
        """Write all if each is unchanged since its `version`; False, and nothing written, if one changed."""
        ...

    async def forget(self, counter: str) -> None:
        """Delete what is stored of a counter that nobody counts in any more."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One of a tenant's places to run: held under `token` since `since`, until released or `until`.

    `version` is that of the row it was read from, or written to.
    """

    number: int
    token: str
    since: datetime
    until: datetime
    version: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMeter:
    """A tenant's meter as it was read; `version` is None when nothing is stored."""

    meter: Meter
    version: str | None


class SlotStore(Protocol):
    async def slots(self, tenant: str) -> Sequence[Slot]:
        """The slots that are held, or were and ran out."""
        ...

    async def take(self, tenant: str, slot: Slot, instead_of: Slot | None) -> Slot | None:
        """`slot` as it is held now, if nobody had it, or still `instead_of`; else None."""
        ...

    async def release(self, tenant: str, slot: Slot) -> None:
        """Let a slot go that `take` gave, if nobody took it over."""
        ...

    async def meter(self, tenant: str) -> StoredMeter: ...

    async def advance(
        self, tenant: str, meter: Meter, version: str | None, job_id: str | None = None
    ) -> bool:
        """Write the meter if unchanged since `version`, else False.

        With `job_id`, in the same step, this job gets the place in the line that the meter tells of.
        """
        ...

    async def place(self, tenant: str, job_id: str) -> Place | None:
        """This job's place in the line, if it has one."""
        ...

    async def leave(self, tenant: str, job_id: str) -> None:
        """Give the place up, if there is one."""
        ...
