"""Retention: a timer that deletes the inputs and results of jobs that ended long enough ago.

It reads the index of ended jobs, and of that only days that are over. Deleted are the job's own inputs and
results; its row, timeline and decisions stay, and so does every document that was in storage before it.
The row says first what is gone; whatever a crash leaves undone, the index brings again.
"""

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from shared.errors import AfterhookError, Conflict, StorageUnavailable, where_raised
from shared.failpoints import Point, reach
from shared.limits.forgetting import forget_days
from shared.pipeline.policies import RetentionPolicy
from shared.ports import RowKind, Snapshot
from shared.retention.ports import EndedJob, Left
from shared.services import Services

log = logging.getLogger("afterhook.retention")
LONGEST_RUN = timedelta(minutes=4)
MOST_JOBS = 5000  # of one run
_ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Due:
    """What of a job is to be deleted, and whether anything of it is kept on."""

    inputs: bool
    results: bool


def due(policy: RetentionPolicy, ended_on: date, now: datetime) -> Due:
    """What is due of a job that ended on `ended_on`: its configured time has passed since that day's end."""
    day_over = datetime(ended_on.year, ended_on.month, ended_on.day, tzinfo=UTC) + _ONE_DAY
    return Due(
        inputs=policy.inputs is not None and now >= day_over + policy.inputs,
        results=policy.results is not None and now >= day_over + policy.results,
    )


def horizon(policy: RetentionPolicy, left: Left, now: datetime) -> date | None:
    """Before which day something is due of those that have `left`; None where nothing ever is."""
    kept = {Left.INPUTS: [policy.inputs], Left.RESULTS: [policy.results]}
    times = [time for time in kept.get(left, [policy.inputs, policy.results]) if time is not None]
    return (now - min(times)).astimezone(UTC).date() if times else None


def remaining(left: Left, what: Due) -> Left | None:
    """What is left after `what` was deleted; None when it is nothing."""
    inputs = left is not Left.RESULTS and not what.inputs
    results = left is not Left.INPUTS and not what.results
    if inputs and results:
        return Left.ALL
    if not (inputs or results):
        return None
    return Left.INPUTS if inputs else Left.RESULTS


@dataclass(slots=True)
class _Run:
    until: datetime
    jobs: int = 0
    failures: int = 0


class Retention:
    """Runs on its timer. What one run does not come to is left to the next."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def run(self) -> None:
        """Raises StorageUnavailable."""
        services, now = self._services, self._services.clock.now()
        run = _Run(now + LONGEST_RUN)
        await forget_days(services)
        for left in Left:
            day = horizon(services.pipeline.retention, left, now)
            if day is not None:
                await self._through(services.retention.ended_before(day, left), run)
        if run.jobs:
            log.info("retention went through %d jobs, %d of them in vain", run.jobs, run.failures)

    async def _through(self, ended: AsyncIterator[EndedJob], run: _Run) -> None:
        services = self._services
        async for entry in ended:
            if run.jobs >= MOST_JOBS or services.clock.now() > run.until:
                services.telemetry.count("retention_cut_short")
                return
            run.jobs += 1
            try:
                await self._delete(entry)
            except StorageUnavailable:
                raise
            except Conflict:
                run.failures += 1  # the job's row changed meanwhile: the next run sees to it
            except Exception as error:  # noqa: BLE001  what is wrong with one job must not keep the others
                run.failures += 1
                code = error.code if isinstance(error, AfterhookError) else type(error).__name__
                services.telemetry.count("retention_failures")
                log.error("retention of %s: %s at %s", entry.job_id, code, where_raised(error))

    async def _delete(self, entry: EndedJob) -> None:
        services = self._services
        snapshot = await services.jobs.load(entry.job_id)
        if snapshot is None or not snapshot.job.settled:
            await services.retention.remove(entry)  # it comes again when the job is settled
            return
        what = due(services.pipeline.retention, entry.day, services.clock.now())
        await self._mark(snapshot, what)
        if what.inputs:
            await self._delete_inputs(entry.job_id)
        if what.results:
            await services.blobs.delete_below(f"results/{entry.job_id}/")
        await reach(Point.RETENTION_AFTER_DELETE)
        left = remaining(entry.left, what)
        if left is entry.left:
            return
        if left is not None:
            await services.retention.put(replace(entry, left=left))
        await services.retention.remove(entry)

    async def _mark(self, snapshot: Snapshot, what: Due) -> None:
        job, services = snapshot.job, self._services
        inputs, results = what.inputs and not job.inputs_gone, what.results and not job.result_gone
        if not (inputs or results):
            return
        now = services.clock.now()
        marked = job.changed(
            now,
            inputs_gone=job.inputs_gone or inputs,
            result_gone=job.result_gone or results,
        )
        events = [name for name, new in (("inputs_deleted", inputs), ("result_deleted", results)) if new]
        rows = [services.timeline(job, event, at=now) for event in events]
        await services.jobs.commit(snapshot, marked, rows)
        await reach(Point.RETENTION_AFTER_MARK)
        for event in events:
            services.telemetry.count(event, task_type=job.task_type)

    async def _delete_inputs(self, job_id: str) -> None:
        jobs = self._services.jobs
        for row in await jobs.rows(job_id, RowKind.INPUT):
            await jobs.delete_row(job_id, RowKind.INPUT, row.key)
        await self._services.blobs.delete_below(f"inputs/{job_id}/")
