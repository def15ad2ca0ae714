"""What the limits stored for a job or a day, deleted once nobody counts in it any more.

Nothing depends on it: what cannot be deleted stays, and is counted.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, timedelta

from shared.errors import AfterhookError
from shared.jobs import Job, JobState
from shared.limits.budgets import day_key, job_key
from shared.limits.tenants import tenants_of
from shared.services import Services

DAYS_KEPT = 3
"""A reservation is settled on the day it was made, so calls that are on their way need yesterday's."""
DAYS_LOOKED_BACK = 30
_NEVER_RAN = (JobState.CANCELLED, JobState.CLOSED)


async def forget_job(services: Services, job: Job, release: int) -> None:
    """Delete the budget of a `release` that is over, and the place in a line of a job that never took it.

    A job that starts gives its place up itself, so only one that ended otherwise is looked for.
    """
    policy = services.pipeline.tasks.get(job.task_type)
    budget = policy.budget if policy else None
    over = job.final or release < job.release
    if budget and over and not (budget.job_tokens is None and budget.job_micros is None):
        counter = job_key(job.job_id, min(release, job.release))  # a closed job's open row is one ahead
        await _tried(services, lambda: services.budgets.forget(counter))
    if job.state in _NEVER_RAN:
        lines = [tenant.key for tenant in tenants_of(services, job) if tenant.limits.per_minute is not None]
        for line in lines:
            await _leave(services, line, job.job_id)


async def forget_days(services: Services) -> None:
    """Delete the budgets of days that are over, of the task types that have one."""
    today = services.clock.now().astimezone(UTC).date()
    for task_type, policy in services.pipeline.tasks.items():
        if policy.budget.day_tokens is None and policy.budget.day_micros is None:
            continue
        for ago in range(DAYS_KEPT, DAYS_LOOKED_BACK + 1):
            if not await _forget_day(services, day_key(task_type, today - timedelta(days=ago))):
                return


async def _leave(services: Services, line: str, job_id: str) -> None:
    await _tried(services, lambda: services.slots.leave(line, job_id))


async def _forget_day(services: Services, counter: str) -> bool:
    return await _tried(services, lambda: services.budgets.forget(counter))


async def _tried(services: Services, step: Callable[[], Awaitable[None]]) -> bool:
    try:
        await step()
    except AfterhookError:
        services.telemetry.count("limits_not_forgotten")
        return False
    return True
