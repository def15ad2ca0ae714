"""Storing and queueing a new job exactly once, or finding that it is there already.

The insert of the job's row is the dedupe. Nothing is reported as taken before it is stored and queued.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.errors import QueueUnavailable, StorageUnavailable
from shared.failpoints import Point, reach
from shared.finishing import tidy
from shared.jobs import Job, JobState
from shared.messages import JobMessage
from shared.notify.outbox import owed
from shared.ports import Row
from shared.services import Services


@dataclass(frozen=True, slots=True)
class Acceptance:
    """`same_body` is False when the known job was made from another body; that one is not run."""

    job_id: str
    duplicate: bool
    same_body: bool = True


class Acceptor:
    """Takes the jobs of one request; `sending` of them are stored and not yet queued."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self.sending = 0

    def gave_up(self) -> Exception:
        """What to tell a caller when the time for the answer is over."""
        if self.sending:
            return QueueUnavailable("The message bus did not answer in time.")
        return StorageUnavailable("The storage account did not answer in time.")

    async def accept(self, job: Job, rows: Sequence[Row]) -> Acceptance:
        """Raises StorageUnavailable or QueueUnavailable; a repeat then finishes what was begun."""
        inserted = await self._store(job, rows)
        self.sending += 1
        try:
            acceptance = await (self._queue(job) if inserted else self._repeat(job))
        except Exception:  # not a cancellation: `gave_up` is asked after one
            self.sending -= 1
            raise
        self.sending -= 1
        return acceptance

    async def _store(self, job: Job, rows: Sequence[Row]) -> bool:
        """Insert the job and its open row at the same time; both are confirmed on return."""
        await reach(Point.INTAKE_BEFORE_STORE)
        inserted, opened = await asyncio.gather(
            self._insert(job, rows), self._open(job), return_exceptions=True
        )
        for outcome in (inserted, opened):
            if isinstance(outcome, BaseException):
                raise outcome
        return inserted is True

    async def _insert(self, job: Job, rows: Sequence[Row]) -> bool:
        await reach(Point.INTAKE_BEFORE_JOB_ROW)
        inserted = await self._services.jobs.insert(job, rows)
        await reach(Point.INTAKE_AFTER_JOB_ROW)
        return inserted

    async def _open(self, job: Job) -> None:
        await reach(Point.INTAKE_BEFORE_OPEN_ROW)
        await self._services.open_index.put(job.job_id, job.release)
        await reach(Point.INTAKE_AFTER_OPEN_ROW)

    async def _queue(self, job: Job) -> Acceptance:
        await self._send(job)
        return Acceptance(job.job_id, duplicate=False)

    async def _repeat(self, job: Job) -> Acceptance:
        """The job is known. Its message is sent again if it may never have been sent."""
        services = self._services
        snapshot = await services.jobs.load(job.job_id)
        if snapshot is None:
            raise StorageUnavailable("The job's row was there a moment ago and is not now.")
        existing = snapshot.job
        same_body = existing.body_sha256 == job.body_sha256
        if not same_body:
            await services.jobs.add_row(existing.job_id, _flag(services, existing, job.body_sha256))
        if existing.final or existing.case_filed or existing.release > job.release:
            if existing.release > job.release or await owed(services, existing) is None:
                # The open row may have stood for what a crash left undone at the job's end.
                await tidy(services, existing, job.release)
        elif existing.state is JobState.QUEUED and existing.claim == 0:
            # The turn's own message id: had it been sent, duplicate detection drops this one.
            await self._send(existing)
        return Acceptance(job.job_id, duplicate=True, same_body=same_body)

    async def _send(self, job: Job) -> None:
        await reach(Point.INTAKE_BEFORE_SEND)
        await self._services.bus.send(JobMessage.for_job(job), at=job.not_before)
        await reach(Point.INTAKE_AFTER_SEND)


def _flag(services: Services, existing: Job, other_sha256: str) -> Row:
    """At most sixteen rows a job, however often and with however many other bodies its id is sent again.

    The row tells of the latest such body; a body always has the same row. They come after the others.
    """
    return replace(services.timeline(existing, "same_id_other_body"), key=f"other-body-{other_sha256[0]}")
