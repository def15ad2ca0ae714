"""How many jobs of one tenant run at once: what is over waits, nothing fails.

A slot to run in is a leased row, so that of a worker that died is free when its lease ends. Jobs that find
no slot look again one after the other, as often as slots are likely to become free, however many wait:
so they do not rush in together, and each comes to look. Leases are judged by the workers' clocks.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from shared.calls.calling import MustWait
from shared.errors import AfterhookError
from shared.failpoints import Point, reach
from shared.jobs import Job
from shared.limits.ports import Slot
from shared.limits.rates import lined_up
from shared.limits.starts import count_start
from shared.limits.tenants import Tenant, tenants_of
from shared.services import Services

BUSY = "tenant_busy"
_SHORTEST_SPACING = timedelta(milliseconds=100)
_LONGEST_SPACING = timedelta(seconds=2)
_PAUSE_SECONDS = 0.05
_TRIES = 20


@asynccontextmanager
async def tenant_slot(services: Services, job: Job, until: datetime) -> AsyncIterator[None]:
    """Hold a slot for `job`, at the longest until `until`, when its lease ends.

    Raises MustWait (`tenant_busy`, `rate_limited`) or StorageUnavailable. Without limits it asks nobody.
    """
    tenants = tenants_of(services, job)
    held: list[tuple[Tenant, Slot]] = []
    try:
        for tenant in tenants:
            if tenant.limits.concurrent is not None:
                held.append((tenant, await _take(services, tenant, tenant.limits.concurrent, until)))
                await reach(Point.LIMITS_AFTER_SLOT)
        if _is_start(job):
            await count_start(services, tenants, job)
        yield
    finally:
        for tenant, slot in reversed(held):
            await _release(services, tenant, slot)


def _is_start(job: Job) -> bool:
    """Retries and looks at what the outside does are no new starts."""
    return job.attempt == 0 and not job.waiting


def free_number(slots: Sequence[Slot], concurrent: int, now: datetime, fraction: float) -> int | None:
    """A slot that nobody holds: any, by chance, so that those who come together do not want the same."""
    taken = {slot.number for slot in slots if slot.until > now}
    free = [number for number in range(concurrent) if number not in taken]
    return free[int(fraction * len(free))] if free else None


def spacing(slots: Sequence[Slot], concurrent: int, now: datetime) -> timedelta:
    """How far apart to look again: about as often as slots become free.

    Those who hold one now have had it for half their time on average, so their mean age divided by the number
    of slots is half the time from one that becomes free to the next.
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
    """The wait of one who found no slot: when to look, or a guess when too many ask for that at once."""
    services.telemetry.count("jobs_held_back", reason=BUSY)
    line = f"{tenant.key}:line"
    for _ in range(_TRIES):
        stored = await services.slots.meter(line)
        meter = lined_up(stored.meter, services.clock.now(), apart)
        if await services.slots.advance(line, meter, stored.version):
            return MustWait(BUSY, meter.next_start)
        await services.clock.sleep(_PAUSE_SECONDS * services.randomness.fraction())
    return MustWait(BUSY, services.clock.now() + _LONGEST_SPACING * (1 + services.randomness.fraction()))


async def _release(services: Services, tenant: Tenant, slot: Slot) -> None:
    """A slot that cannot be given back now is free when its lease ends."""
    try:
        await services.slots.release(tenant.key, slot)
    except AfterhookError:
        services.telemetry.count("slots_not_released")
