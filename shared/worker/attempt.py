"""One attempt: read the input, run the task within its time, and say how it ended.

An attempt never raises for what its task did; it returns what came of it. Only a storage outage and a lost
claim pass through, because then nothing about the job may be concluded here.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from shared.callbacks import callback_url_for
from shared.effects.ledger import Ledger
from shared.errors import (
    AfterhookError,
    AttemptTimedOut,
    ClaimLost,
    StorageUnavailable,
    TaskFailed,
    where_raised,
)
from shared.failpoints import Point, reach
from shared.inputs import read_input
from shared.jobs import Job
from shared.limits.provider_calls import GuardedCalls
from shared.pipeline import TaskPolicy
from shared.services import Services
from shared.tasks.base import Task, TaskContext, TaskResult, Waiting
from shared.worker.claims import Claim, outlast_outage

log = logging.getLogger("afterhook.worker")

Ended = TaskResult | Waiting | AfterhookError


async def attempt(claim: Claim, task: Task, policy: TaskPolicy) -> Ended:
    """Run `task` once for the claimed job: its result, its wait, or the error that it ended with."""
    services, job = claim.services, claim.job
    begun_at = services.clock.now()
    # An outage while the input is read must end as one before the task's time is up.
    read_until = min(claim.until, begun_at + policy.attempt_timeout / 2)
    limit = asyncio.timeout(policy.attempt_timeout.total_seconds())
    try:
        with _told_when_slow(services, job, policy.slow_after):
            async with limit:
                task_input = await outlast_outage(
                    services, lambda: read_input(services, job, task.max_input_bytes), read_until
                )
                context = _context(claim, policy, begun_at + policy.attempt_timeout)
                await reach(Point.TASK_RUNNING)
                return await task.run(task_input, context)
    except TimeoutError:
        if not limit.expired():
            return AttemptTimedOut("Something that the task called did not answer in time.")
        seconds = policy.attempt_timeout.total_seconds()
        return AttemptTimedOut(f"The task did not finish within {seconds:g} s.")
    except (StorageUnavailable, ClaimLost):
        raise
    except AfterhookError as error:
        return error
    except Exception as error:  # noqa: BLE001  whatever a task raises becomes an outcome
        # The text of a foreign error may hold a document: only its kind and place are written down.
        log.error("task of %s failed with %s at %s", job.job_id, type(error).__name__, where_raised(error))
        name = type(error).__name__
        return TaskFailed(f"The task ended with an unexpected {name}. The log of that time says where.")


def _context(claim: Claim, policy: TaskPolicy, until: datetime) -> TaskContext:
    """`until` is when the attempt's time is up."""
    services, job = claim.services, claim.job
    return TaskContext(
        job_id=job.job_id,
        attempt=job.attempt,
        release=job.release,
        effects=Ledger(claim, GuardedCalls(services, job, policy), until),
        calls=GuardedCalls(services, job, policy, until),
        callback_url=callback_url_for(services, job),
    )


@contextmanager
def _told_when_slow(services: Services, job: Job, after: timedelta) -> Iterator[None]:
    """Say it once, while it lasts, when a run takes longer than its task's `slow_after`."""

    def tell() -> None:
        log.warning("attempt of %s is slow: over %g s", job.job_id, after.total_seconds())
        services.telemetry.count("slow_attempts", task_type=job.task_type)

    timer = asyncio.get_running_loop().call_later(after.total_seconds(), tell)
    try:
        yield
    finally:
        timer.cancel()
