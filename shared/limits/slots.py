"""How many jobs of one tenant run at once, and start in a minute: what is over waits, nothing fails.

A place to run is a leased row, so a worker that died gives its own back when the lease ends. Jobs that find
no place look again one after the other, as often as places are likely to become free, however many wait:
so they do not rush in together, and everyone's turn to look comes round. Leases and turns are judged by the
workers' clocks.
"""

import hashlib
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.calls.calling import MustWait
from shared.errors import AfterhookError
from shared.failpoints import Point, reach
from shared.jobs import Job
from shared.limits.ports import Slot
from shared.limits.rates import Meter, Place, lined_up, metered
from shared.pipeline.policies import LimitBy, TenantLimits
from shared.services import Services

BUSY, LIMITED = "tenant_busy", "rate_limited"
PLACE_KEPT = timedelta(minutes=1)
"""How late a job may be for its turn to start, beside the jitter of its wait; then it lines up again."""
_SHORTEST_SPACING = timedelta(milliseconds=100)
_LONGEST_SPACING = timedelta(seconds=2)
_PAUSE_SECONDS = 0.05
_TRIES = 20


@dataclass(frozen=True, slots=True)
class Tenant:
    """Jobs that are counted together, and the limits for them."""

    key: str
    limits: TenantLimits


@asynccontextmanager
async def tenant_slot(services: Services, job: Job, until: datetime) -> AsyncIterator[None]:
    """Hold a place to run for `job`, at the longest until `until`, when its lease ends.

    Raises MustWait (`tenant_busy`, `rate_limited`) or StorageUnavailable. Without limits it asks nobody.
    """
    tenants = tenants_of(services, job)
    held: list[tuple[Tenant, Slot]] = []
    try:
        for tenant in tenants:
            if tenant.limits.concurrent is not None:
                held.append((tenant, await _take(services, tenant, tenant.limits.concurrent, until)))
                await reach(Point.LIMITS_AFTER_SLOT)
        for tenant in tenants:
            if tenant.limits.per_minute is not None and _starts(job):
                await _start(services, tenant, tenant.limits.per_minute, job)
                await reach(Point.LIMITS_AFTER_START)
        yield
    finally:
        for tenant, slot in reversed(held):
            await _release(services, tenant, slot)


def tenants_of(services: Services, job: Job) -> list[Tenant]:
    """Whom `job` counts for: its source or user as the source's limits say, and as its task's say."""
    source, task = services.pipeline.sources.get(job.source), services.pipeline.tasks.get(job.task_type)
    found = [
        *([_tenant("source", source.limits, job)] if source else []),
        *([_tenant(job.task_type, task.limits, job)] if task else []),
    ]
    return [one for one in found if one.limits != TenantLimits(by=one.limits.by)]


def _tenant(scope: str, limits: TenantLimits, job: Job) -> Tenant:
    """Jobs without a user are one tenant. Names are hashed: a storage key takes not every character."""
    user = (job.user_id or "") if limits.by is LimitBy.USER else None
    name = json.dumps([scope, job.source, user]).encode()
    return Tenant(hashlib.sha256(name).hexdigest()[:40], limits)


def _starts(job: Job) -> bool:
    """Retries and looks at what the outside does are no new starts."""
    return job.attempt == 0 and not job.waiting


def free_number(slots: Sequence[Slot], concurrent: int, now: datetime, fraction: float) -> int | None:
    """A place that nobody holds: any, by chance, so that those who come together do not want the same."""
    taken = {slot.number for slot in slots if slot.until > now}
    free = [number for number in range(concurrent) if number not in taken]
    return free[int(fraction * len(free))] if free else None


def spacing(slots: Sequence[Slot], concurrent: int, now: datetime) -> timedelta:
    """How far apart to look again: about as often as places become free.

    Those who hold one now have had it for half their time on average, so their mean age divided by the number
    of places is half the time from one that becomes free to the next.
    """
    ages = [now - slot.since for slot in slots if slot.until > now]
    mean = sum(ages, timedelta()) / max(len(ages), 1)
    return min(max(mean / concurrent, _SHORTEST_SPACING), _LONGEST_SPACING)


async def _take(services: Services, tenant: Tenant, concurrent: int, until: datetime) -> Slot:
    store, token = services.slots, services.randomness.token()
    for _ in range(_TRIES):
        slots, now = await store.slots(tenant.key), services.clock.now()
        number = free_number(slots, concurrent, now, services.randomness.fraction())
        if number is None:
            raise await _look_again(services, tenant, spacing(slots, concurrent, now))
        slot = Slot(number=number, token=token, since=now, until=until)
        old = next((one for one in slots if one.number == number), None)
        held = await store.take(tenant.key, slot, old)
        if held is not None:
            return held
        await services.clock.sleep(_PAUSE_SECONDS * services.randomness.fraction())
    raise await _look_again(services, tenant, _SHORTEST_SPACING)


async def _look_again(services: Services, tenant: Tenant, apart: timedelta) -> MustWait:
    """The wait of one who found no place: his turn to look, or a guess when too many ask for one at once."""
    services.telemetry.count("jobs_held_back", reason=BUSY)
    line = f"{tenant.key}:line"
    for _ in range(_TRIES):
        stored = await services.slots.meter(line)
        meter = lined_up(stored.meter, services.clock.now(), apart)
        if await services.slots.advance(line, meter, stored.version):
            return MustWait(BUSY, meter.next_start)
        await services.clock.sleep(_PAUSE_SECONDS * services.randomness.fraction())
    return MustWait(BUSY, services.clock.now() + _LONGEST_SPACING * (1 + services.randomness.fraction()))


async def _start(services: Services, tenant: Tenant, per_minute: int, job: Job) -> None:
    """Count the start, or line up for one: a job that has lined up starts in its turn.

    A job that may be buried before its turn takes none, or the dead would hold up all who come later.
    """
    store = services.slots
    place = await store.place(tenant.key, job.job_id)
    now = services.clock.now()
    if place is not None and place.start > now:
        raise MustWait(LIMITED, place.start)
    if place is not None:
        await store.leave(tenant.key, job.job_id)
        if now <= _kept_until(services, place, job):
            return
    for _ in range(_TRIES):
        stored, now = await store.meter(tenant.key), services.clock.now()
        meter = metered(stored.meter, now, per_minute)
        late = meter.next_start > now
        if late and not _in_time(services, meter, job):
            services.telemetry.count("jobs_held_back", reason=LIMITED)
            raise MustWait(LIMITED, meter.next_start)
        if await store.advance(tenant.key, meter, stored.version, job.job_id if late else None):
            if late:
                services.telemetry.count("jobs_held_back", reason=LIMITED)
                raise MustWait(LIMITED, meter.next_start)
            return
        await services.clock.sleep(_PAUSE_SECONDS * services.randomness.fraction())
    raise MustWait(LIMITED, services.clock.now() + _LONGEST_SPACING * (1 + services.randomness.fraction()))


def _in_time(services: Services, meter: Meter, job: Job) -> bool:
    """Whether the start comes before the job's deadline, however far its wait is spread by jitter."""
    policy = services.pipeline.tasks.get(job.task_type)
    if policy is None:
        return True
    spread = (meter.next_start - meter.asked) * policy.retry.jitter
    return meter.next_start + spread <= job.released_at + policy.retry.deadline


def _kept_until(services: Services, place: Place, job: Job) -> datetime:
    """The wait is spread by the jitter of the task's retries, so whoever waits long may come late."""
    policy = services.pipeline.tasks.get(job.task_type)
    jitter = policy.retry.jitter if policy else 0.0
    return place.start + PLACE_KEPT + (place.start - place.asked) * jitter


async def _release(services: Services, tenant: Tenant, slot: Slot) -> None:
    """A place that cannot be given back now is free when its lease ends."""
    try:
        await services.slots.release(tenant.key, slot)
    except AfterhookError:
        services.telemetry.count("slots_not_released")
