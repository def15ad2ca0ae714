"""Sharded counters: never over the limit by a reservation, and all of it usable."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.calls.calling import NO_COST, Usage
from shared.limits.budget import KEPT_WRITES, Limit, Shard, reserved, settled


def shards(*tokens: int) -> list[Shard]:
    return [Shard(number=number, tokens=used) for number, used in enumerate(tokens)]


def with_changes(before: Sequence[Shard], changed: Sequence[Shard]) -> list[Shard]:
    after = {shard.number: shard for shard in changed}
    return [after.get(shard.number, shard) for shard in before]


def tokens_after(before: Sequence[Shard], changed: Sequence[Shard] | None) -> list[int]:
    assert changed is not None
    return [shard.tokens for shard in with_changes(before, changed)]


def test_a_reservation_changes_one_shard_with_room_for_it() -> None:
    before = shards(0, 0, 0, 0)
    assert tokens_after(before, reserved(before, Limit(tokens=100), Usage(tokens=20), 2)) == [0, 0, 20, 0]
    before = shards(0, 0, 20, 0)
    assert tokens_after(before, reserved(before, Limit(tokens=100), Usage(tokens=20), 2)) == [0, 0, 20, 20]


def test_what_fits_no_single_shard_is_spread_so_that_all_of_the_limit_can_be_used() -> None:
    before = shards(20, 20, 20, 20)
    assert tokens_after(before, reserved(before, Limit(tokens=100), Usage(tokens=20), 0)) == [25, 25, 25, 25]
    assert reserved(before, Limit(tokens=100), Usage(tokens=21), 0) is None


def test_a_limit_smaller_than_the_number_of_shards_can_be_used_up() -> None:
    before = shards(0, 0, 0, 0)
    assert sum(tokens_after(before, reserved(before, Limit(tokens=3), Usage(tokens=3), 3))) == 3
    assert reserved(before, Limit(tokens=3), Usage(tokens=4), 3) is None


def test_each_measure_has_its_own_limit() -> None:
    before = shards(0, 0)
    limit = Limit(tokens=10, micros=1_000)
    assert reserved(before, limit, Usage(tokens=10, micros=1_001), 0) is None
    assert reserved(before, limit, Usage(tokens=11, micros=1_000), 0) is None
    assert reserved(before, limit, Usage(tokens=10, micros=1_000), 0) is not None


def test_a_measure_without_a_limit_is_counted_but_not_bounded() -> None:
    changed = reserved(shards(0, 0), Limit(micros=5), Usage(tokens=10**12, micros=1), 1)
    assert changed == [Shard(number=1, tokens=10**12, micros=1)]


def test_a_call_without_an_estimate_needs_something_left() -> None:
    assert reserved(shards(5, 4), Limit(tokens=10), NO_COST, 0) == []
    assert reserved(shards(5, 5), Limit(tokens=10), NO_COST, 0) is None


def test_settling_gives_back_what_was_not_used_and_adds_what_was_used_more() -> None:
    before, limit = shards(30, 10), Limit(tokens=100)
    less = settled(before, limit, Usage(tokens=20), Usage(tokens=5), 0)
    assert tokens_after(before, less) == [15, 10]
    more = settled(before, limit, Usage(tokens=20), Usage(tokens=30), 0)
    assert tokens_after(before, more) == [40, 10]


def test_what_is_given_back_was_reserved_in_other_shards_too() -> None:
    before = shards(5, 40)
    changed = settled(before, Limit(tokens=100), Usage(tokens=30), Usage(), 0)
    assert tokens_after(before, changed) == [0, 15]


def test_a_settlement_over_the_limit_is_counted_and_rewrites_every_shard() -> None:
    before, limit = shards(40, 50), Limit(tokens=100)
    changed = settled(before, limit, Usage(tokens=40), Usage(tokens=70), 0)
    assert [shard.number for shard in changed] == [0, 1]
    assert sum(tokens_after(before, changed)) == 120
    assert reserved(with_changes(before, changed), limit, Usage(tokens=1), 0) is None


def test_an_excess_is_made_good_before_anybody_has_room_again() -> None:
    over, limit = shards(70, 50), Limit(tokens=100)
    after = with_changes(over, settled(over, limit, Usage(tokens=50), Usage(tokens=20), 1))
    assert sum(shard.tokens for shard in after) == 90
    assert reserved(after, limit, Usage(tokens=11), 0) is None
    assert reserved(after, limit, Usage(tokens=10), 0) is not None


def test_a_lowered_limit_holds_for_the_sum_at_once() -> None:
    before = shards(15, 0)
    assert reserved(before, Limit(tokens=20), Usage(tokens=6), 1) is None
    assert tokens_after(before, reserved(before, Limit(tokens=20), Usage(tokens=5), 1)) == [10, 10]


def test_a_shard_remembers_its_last_writers() -> None:
    shard = Shard(number=0)
    for number in range(KEPT_WRITES + 3):
        shard = shard.signed(f"w{number}")
    assert (shard.writes, len(shard.recent)) == (KEPT_WRITES + 3, KEPT_WRITES)
    assert (shard.recent[0], shard.recent[-1]) == ("w3", f"w{KEPT_WRITES + 2}")


def has_room(limit: int | None, used: int, amount: int) -> bool:
    return limit is None or max(limit - used, 0) >= amount


Amounts = st.builds(Usage, tokens=st.integers(0, 60), micros=st.integers(0, 60))
Bounds = st.none() | st.integers(1, 100)


@given(
    count=st.integers(1, 9),
    limit=st.builds(Limit, tokens=Bounds, micros=Bounds),
    steps=st.lists(st.tuples(st.sampled_from("rrrs"), Amounts, st.integers(0, 8)), max_size=40),
)
def test_reservations_alone_never_pass_the_limit_and_the_sums_are_exact(
    count: int, limit: Limit, steps: list[tuple[str, Usage, int]]
) -> None:
    state = [Shard(number=number) for number in range(count)]
    held: list[Usage] = []
    tokens = micros = 0
    for kind, amount, pick in steps:
        first = pick % count
        if kind == "r":
            changed = reserved(state, limit, amount, first)
            fits = has_room(limit.tokens, tokens, amount.tokens or (amount == NO_COST))
            fits = fits and has_room(limit.micros, micros, amount.micros or (amount == NO_COST))
            assert (changed is not None) == fits
            if changed is None:
                continue
            held.append(amount)
            tokens, micros = tokens + amount.tokens, micros + amount.micros
        elif held:
            estimate = held.pop(pick % len(held))
            changed = settled(state, limit, estimate, amount, first)
            tokens, micros = (
                tokens + amount.tokens - estimate.tokens,
                micros + amount.micros - estimate.micros,
            )
        else:
            continue
        state = with_changes(state, changed)
        assert (sum(s.tokens for s in state), sum(s.micros for s in state)) == (tokens, micros)
        assert all(s.tokens >= 0 and s.micros >= 0 for s in state)


@pytest.mark.parametrize("limit", [Limit(), Limit(tokens=1), Limit(micros=1)])
def test_a_limit_says_whether_it_is_one(limit: Limit) -> None:
    assert limit.none == (limit == Limit())
