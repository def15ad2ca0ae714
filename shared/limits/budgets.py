"""Budgets of a job's release and of a task type's day: reserved before a call, settled after it.

What a crash leaves between the two counts as spent: nobody knows whether the call was made, and a budget is
there to be kept. A reservation that is refused, or fails half-way, is given back.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date

from shared.calls.calling import BudgetExceeded, Usage
from shared.errors import AfterhookError, StorageUnavailable
from shared.failpoints import Point, reach
from shared.jobs import Job
from shared.limits.budget import KEPT_WRITES, Limit, Shard, reserved, settled
from shared.limits.ports import StoredShard
from shared.limits.refusal import Span, refusal
from shared.pipeline import TaskPolicy
from shared.services import Services

DAY_SHARDS = 8
_TRIES = 40
_PAUSE_SECONDS = 0.05
Change = Callable[[list[Shard], int, bool], list[Shard] | None]
"""What is written, of all shards as they are, beginning at which; `bool`: surely not written before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """One counter in storage, and its limit."""

    key: str
    span: Span
    limit: Limit
    shards: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """What was reserved for one call, and in which counters."""

    amount: Usage
    counters: tuple[Counter, ...] = ()


def job_key(job_id: str, release: int) -> str:
    """The counter of one release of a job."""
    return f"job:{job_id}:{release}"


def day_key(task_type: str, day: date) -> str:
    """The counter of a task type's day (UTC)."""
    return f"day:{task_type}:{day:%Y%m%d}"


def counters_of(job: Job, policy: TaskPolicy, day: date) -> tuple[Counter, ...]:
    """The counters that a call of this job counts in: those with a limit. `day` is in UTC."""
    budget = policy.budget
    own = Counter(
        key=job_key(job.job_id, job.release),
        span=Span.JOB,
        limit=Limit(tokens=budget.job_tokens, micros=budget.job_micros),
        shards=1,
    )
    all_of_day = Counter(
        key=day_key(job.task_type, day),
        span=Span.DAY,
        limit=Limit(tokens=budget.day_tokens, micros=budget.day_micros),
        shards=DAY_SHARDS,
    )
    return tuple(counter for counter in (own, all_of_day) if not counter.limit.none)


async def reserve(services: Services, job: Job, policy: TaskPolicy, amount: Usage) -> Reservation:
    """Reserve `amount` in every counter. Raises BudgetExceeded or StorageUnavailable."""
    day = services.clock.now().astimezone(UTC).date()
    done: tuple[Counter, ...] = ()
    try:
        for counter in counters_of(job, policy, day):
            full = await _reserve_in(services, counter, amount)
            if full is not None:
                services.telemetry.count("budgets_exceeded", task_type=job.task_type)
                raise BudgetExceeded(refusal(job.task_type, counter.span, full, counter.limit, amount))
            done = (*done, counter)
            await reach(Point.LIMITS_AFTER_RESERVATION)
    except AfterhookError:
        await _give_back(services, job, Reservation(amount=amount, counters=done))
        raise
    return Reservation(amount=amount, counters=done)


async def _give_back(services: Services, job: Job, reservation: Reservation) -> None:
    """No call follows, so nothing is spent; what cannot be written now counts as spent."""
    try:
        await settle(services, reservation, Usage())
    except AfterhookError:
        services.telemetry.count("limits_not_written", task_type=job.task_type)


async def settle(services: Services, reservation: Reservation, used: Usage) -> None:
    """Put `used` in the place of what was reserved. Raises StorageUnavailable: then that stands."""
    if used != reservation.amount:
        for counter in reservation.counters:
            await _settle_in(services, counter, reservation.amount, used)
            await reach(Point.LIMITS_AFTER_SETTLEMENT)


async def _reserve_in(services: Services, counter: Counter, amount: Usage) -> Sequence[Shard] | None:
    """None if it fits, else the shards that have no room for it.

    Written twice without our knowing, a reservation only counts too much.
    """
    seen: list[Shard] = []

    def change(shards: list[Shard], first: int, _sure: bool) -> list[Shard] | None:
        seen[:] = shards
        return reserved(shards, counter.limit, amount, first)

    return None if await _changed(services, counter, change) else seen


async def _settle_in(services: Services, counter: Counter, estimate: Usage, used: Usage) -> None:
    """Give back, or add, once. Where nobody can tell whether it was done, only what adds is done again."""
    most = Usage(tokens=max(estimate.tokens, used.tokens), micros=max(estimate.micros, used.micros))

    def change(shards: list[Shard], first: int, sure: bool) -> list[Shard] | None:
        return settled(shards, counter.limit, estimate, used if sure else most, first)

    await _changed(services, counter, change)


async def _changed(services: Services, counter: Counter, change: Change) -> bool:
    """Apply `change` once; False if it says None."""
    token, sure = services.randomness.token(), True
    planned: list[StoredShard] = []
    for attempt in range(_TRIES):
        stored = await _shards(services, counter)
        now = [stored[one.shard.number].shard for one in planned]
        if any(token in shard.recent for shard in now):
            return True  # our own write, whose answer was lost
        sure = sure and not any(_forgotten(one.shard, shard) for one, shard in zip(planned, now, strict=True))
        first = int(services.randomness.fraction() * len(stored))
        changed = change([one.shard for one in stored], first, sure)
        if changed is None:
            return False
        planned = [replace(stored[shard.number], shard=shard.signed(token)) for shard in changed]
        if not planned or await services.budgets.write(counter.key, planned):
            return True
        pause = _PAUSE_SECONDS * min(attempt + 1, 10) * services.randomness.fraction()
        await services.clock.sleep(pause)
    raise StorageUnavailable("A budget's counter changed again and again while it was counted.")


def _forgotten(planned: Shard, now: Shard) -> bool:
    """Whether so many wrote since that our own write, had it been one, would not be remembered."""
    return now.writes - planned.writes >= KEPT_WRITES


async def _shards(services: Services, counter: Counter) -> list[StoredShard]:
    found = {one.shard.number: one for one in await services.budgets.shards(counter.key)}
    count = max(counter.shards, max(found, default=0) + 1)
    empty = [StoredShard(shard=Shard(number=number), version=None) for number in range(count)]
    return [found.get(one.shard.number, one) for one in empty]
