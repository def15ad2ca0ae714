"""A counter with upper limits, in shards: pure arithmetic that is never over the limit by a reservation.

Each shard has its share of the limit, so that many jobs count at once without waiting for each other. What
fits in no single shard is spread over several, so all of the limit can be used and the sum is exact. Only a
settlement may go over, when a call cost more than was reserved; then no shard has room, and it stays so
until the excess is made good. To keep that true against others, such a settlement rewrites every shard.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from shared.calls.calling import NO_COST, Usage

KEPT_WRITES = 32
_NO_LIMIT = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """What is reserved or spent. `writes` counts its writes, `recent` holds the tokens of the last ones."""

    number: int
    tokens: int = 0
    micros: int = 0
    writes: int = 0
    recent: tuple[str, ...] = ()

    def signed(self, token: str) -> "Shard":
        """The shard as the write `token` leaves it."""
        return replace(self, writes=self.writes + 1, recent=(*self.recent, token)[-KEPT_WRITES:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The most that a counter may reach; None is no limit."""

    tokens: int | None = None
    micros: int | None = None

    @property
    def none(self) -> bool:
        return self.tokens is None and self.micros is None


def reserved(shards: Sequence[Shard], limit: Limit, amount: Usage, first: int) -> list[Shard] | None:
    """The shards that change by reserving `amount`, beginning at shard `first`; None if it is too much.

    Without an estimate (zero of both) there must be something left of each limit.
    """
    tokens, micros = _sums(shards, limit)
    least = 1 if amount == NO_COST else 0
    if tokens.room < max(amount.tokens, least) or micros.room < max(amount.micros, least):
        return None
    order = _around(len(shards), first)
    fitting = (
        place for place in order if tokens.fits(place, amount.tokens) and micros.fits(place, amount.micros)
    )
    start = next(fitting, first)
    tokens.add(amount.tokens, start)
    micros.add(amount.micros, start)
    return _changed(shards, tokens, micros)


def settled(shards: Sequence[Shard], limit: Limit, estimate: Usage, used: Usage, first: int) -> list[Shard]:
    """The shards that change when a call reserved as `estimate` turned out to cost `used`."""
    tokens, micros = _sums(shards, limit)
    over = tokens.correct(used.tokens - estimate.tokens, first)
    over = micros.correct(used.micros - estimate.micros, first) or over
    return _changed(shards, tokens, micros, every=over)


class _Sum:
    """One measure over all shards, while a change to it is worked out."""

    def __init__(self, used: list[int], limit: int | None) -> None:
        self.used = used
        count = len(used)
        whole = _NO_LIMIT * count if limit is None else limit
        self._shares = [whole // count + (place < whole % count) for place in range(count)]
        self._even_out()

    @property
    def room(self) -> int:
        return sum(self._free(place) for place in range(len(self.used)))

    def fits(self, place: int, amount: int) -> bool:
        return self._free(place) >= amount

    def add(self, amount: int, first: int) -> int:
        """Put `amount` where there is room; what is left over."""
        for place in _around(len(self.used), first):
            part = min(amount, self._free(place))
            self.used[place] += part
            amount -= part
        return amount

    def correct(self, change: int, first: int) -> bool:
        """Add or take away; whether that went over the limit."""
        if change >= 0:
            left = self.add(change, first)
            self.used[first] += left
            return left > 0
        for place in _around(len(self.used), first):
            part = min(-change, self.used[place])
            self.used[place] -= part
            change += part
        self._even_out()
        return False

    def _free(self, place: int) -> int:
        return max(self._shares[place] - self.used[place], 0)

    def _even_out(self) -> None:
        """Move what lies above a share to where there is room, as after a limit was lowered."""
        for place, share in enumerate(self._shares):
            excess = self.used[place] - share
            if excess > 0:
                self.used[place] = share
                self.used[place] += self.add(excess, place)


def _sums(shards: Sequence[Shard], limit: Limit) -> tuple[_Sum, _Sum]:
    return (
        _Sum([shard.tokens for shard in shards], limit.tokens),
        _Sum([shard.micros for shard in shards], limit.micros),
    )


def _changed(shards: Sequence[Shard], tokens: _Sum, micros: _Sum, *, every: bool = False) -> list[Shard]:
    after = [
        replace(shard, tokens=tokens.used[place], micros=micros.used[place])
        for place, shard in enumerate(shards)
    ]
    return [new for old, new in zip(shards, after, strict=True) if every or new != old]


def _around(count: int, first: int) -> "chain[int]":
    return chain(range(first, count), range(first))
