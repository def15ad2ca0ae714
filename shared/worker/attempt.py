"""One attempt: read the input, run the task within its time, and say how it ended.

An attempt never raises for what its task did; it returns an outcome. Only a storage outage passes through,
because then nothing about the job may be concluded.
"""

import asyncio
import logging
from dataclasses import dataclass
from datetime import datetime

from shared.errors import (
    AfterhookError,
    AttemptTimedOut,
    OutcomeUnknownError,
    PermanentError,
    StorageUnavailable,
    TaskFailed,
    TransientError,
    where_raised,
)
from shared.failpoints import Point, reach
from shared.inputs import read_input
from shared.jobs import Job
from shared.pipeline import TaskPolicy
from shared.services import Services
from shared.tasks.base import Task, TaskContext, TaskResult
from shared.worker.claims import outlast_outage

log = logging.getLogger("afterhook.worker")


@dataclass(frozen=True, slots=True)
class Completed:
    result: TaskResult


@dataclass(frozen=True, slots=True)
class Failed:
    error: AfterhookError


Outcome = Completed | Failed


async def attempt(services: Services, job: Job, task: Task, policy: TaskPolicy, until: datetime) -> Outcome:
    """Run `task` once for `job`. `until` is when the lease ends."""
    # An outage while the input is read must end as one before the task's time is up.
    read_until = min(until, services.clock.now() + policy.attempt_timeout / 2)
    limit = asyncio.timeout(policy.attempt_timeout.total_seconds())
    try:
        async with limit:
            task_input = await outlast_outage(
                services, lambda: read_input(services, job, task.max_input_bytes), read_until
            )
            context = TaskContext(job_id=job.job_id, attempt=job.attempt, release=job.release)
            await reach(Point.TASK_RUNNING)
            return Completed(await task.run(task_input, context))
    except TimeoutError:
        if not limit.expired():
            return Failed(AttemptTimedOut("Something that the task called did not answer in time."))
        seconds = policy.attempt_timeout.total_seconds()
        return Failed(AttemptTimedOut(f"The task did not finish within {seconds:g} s."))
    except StorageUnavailable:
        raise
    except (PermanentError, TransientError, OutcomeUnknownError) as error:
        return Failed(error)
    except Exception as error:  # noqa: BLE001  whatever a task raises becomes an outcome
        # The text of a foreign error may hold a document: only its kind and place are written down.
        log.error("task of %s failed with %s at %s", job.job_id, type(error).__name__, where_raised(error))
        return Failed(TaskFailed(f"The task ended with an unexpected {type(error).__name__}."))
