"""How many jobs of one tenant start in a minute: who is over is given a time to start, in order of asking.

A job under several limits starts when all of them let it, and uses up a start of each then and not before:
it lines up where it has to wait longest, and keeps the time to start that it was given elsewhere. Times are
judged by the workers' clocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from shared.calls.calling import MustWait
from shared.failpoints import Point, reach
from shared.jobs import Job
from shared.limits.ports import StoredMeter
from shared.limits.rates import Place, metered
from shared.limits.tenants import Tenant
from shared.services import Services

LIMITED = "rate_limited"
PLACE_KEPT = timedelta(minutes=1)
"""How late a job may be for its time to start, beside the jitter of its wait; then it lines up again."""
_LONGEST_PAUSE = timedelta(seconds=2)
_PAUSE_SECONDS = 0.05
_TRIES = 20


@dataclass(frozen=True, slots=True)
class _Line:
    """Where the job stands with one limit: its `place`, or what the `meter` says; and so its `start`."""

    tenant: Tenant
    per_minute: int
    start: datetime
    place: Place | None
    meter: StoredMeter | None


async def count_start(services: Services, tenants: Sequence[Tenant], job: Job) -> None:
    """Count the start of `job` under each limit of `tenants`, or under none of them.

    Raises MustWait (`rate_limited`) or StorageUnavailable.
    """
    limited = [(one, one.limits.per_minute) for one in tenants if one.limits.per_minute is not None]
    if not limited:
        return
    lines = [await _look(services, tenant, per_minute, job) for tenant, per_minute in limited]
    placed = [line for line in lines if line.place]
    last = max(lines, key=lambda line: line.start)
    if last.start > services.clock.now():
        start = last.start if last.place else await _line_up(services, last, job)
        raise await _wait(services, [line for line in placed if line is not last], job, start)
    taken = list(placed)
    narrowest_first = sorted(lines, key=lambda line: line.per_minute)  # where others are likelier quicker
    for line in narrowest_first:
        if line.place:
            continue
        later = await _take(services, line, job)
        if later is not None:  # others were quicker
            raise await _wait(services, taken, job, later)
        taken.append(line)
        await reach(Point.LIMITS_AFTER_START)
    for line in placed:
        await services.slots.leave(line.tenant.key, job.job_id)


async def _look(services: Services, tenant: Tenant, per_minute: int, job: Job) -> _Line:
    """When the job may start. A place that it came too late for is given up."""
    store = services.slots
    place = await store.place(tenant.key, job.job_id)
    if place is not None:
        if services.clock.now() <= _kept_until(services, place, job):
            return _Line(tenant, per_minute, place.start, place, None)
        await store.leave(tenant.key, job.job_id)
    stored = await store.meter(tenant.key)
    start = metered(stored.meter, services.clock.now(), per_minute).next_start
    return _Line(tenant, per_minute, start, None, stored)


async def _line_up(services: Services, line: _Line, job: Job) -> datetime:
    """The time to start that the job is given."""
    return await _take(services, line, job, for_later=True) or services.clock.now()


async def _take(services: Services, line: _Line, job: Job, *, for_later: bool = False) -> datetime | None:
    """Count a start. None if it is one now; else when it is, and the job has a place for then.

    A job that may be buried before it starts takes none, or the dead would hold up all who come later.
    """
    store, key, stored = services.slots, line.tenant.key, line.meter
    for _ in range(_TRIES):
        stored = stored or await store.meter(key)
        now = services.clock.now()
        meter = metered(stored.meter, now, line.per_minute)
        late = meter.next_start > now
        doomed = late and not _in_time(services, Place(start=meter.next_start, asked=now), job)
        owner = job.job_id if late or for_later else None
        if doomed or await store.advance(key, meter, stored.version, owner):
            if not late:
                return None
            services.telemetry.count("jobs_held_back", reason=LIMITED)
            return meter.next_start
        stored = None
        await services.clock.sleep(_PAUSE_SECONDS * services.randomness.fraction())
    return services.clock.now() + _LONGEST_PAUSE * (1 + services.randomness.fraction())


async def _wait(services: Services, kept: Sequence[_Line], job: Job, start: datetime) -> MustWait:
    """The wait until `start`; what the job has under the `kept` limits is still its own then."""
    for line in kept:
        await _keep(services, line, job, start)
    return MustWait(LIMITED, start)


async def _keep(services: Services, line: _Line, job: Job, start: datetime) -> None:
    """Keep the start that the job has under this limit until another lets it start too: nothing is counted.

    While many others ask at once it is not kept, and the job lines up again.
    """
    store, key = services.slots, line.tenant.key
    for _ in range(_TRIES):
        stored = await store.meter(key)
        meter = replace(stored.meter, next_start=start, asked=services.clock.now())
        if await store.advance(key, meter, stored.version, job.job_id):
            return
        await services.clock.sleep(_PAUSE_SECONDS * services.randomness.fraction())


def _in_time(services: Services, place: Place, job: Job) -> bool:
    """Whether the start comes before the job's deadline, however far its wait is spread by jitter."""
    policy = services.pipeline.tasks.get(job.task_type)
    if policy is None:
        return True
    return place.start + _spread(services, place, job) <= job.released_at + policy.retry.deadline


def _kept_until(services: Services, place: Place, job: Job) -> datetime:
    """The wait is spread by the jitter of the task's retries, so whoever waits long may come late."""
    return place.start + PLACE_KEPT + _spread(services, place, job)


def _spread(services: Services, place: Place, job: Job) -> timedelta:
    policy = services.pipeline.tasks.get(job.task_type)
    return (place.start - place.asked) * (policy.retry.jitter if policy else 0.0)
