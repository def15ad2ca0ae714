"""The sweep: a timer that reads the open index, and only it, so that no job is ever forgotten.

For each open row it takes one pure decision. A nudge is noted on the row and the next one waits longer, so
that a long backlog does not multiply messages.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from shared.deadletters.alerting import alert
from shared.deadletters.filing import file_case
from shared.errors import Conflict, QueueUnavailable, StorageUnavailable, where_raised
from shared.failpoints import Point, reach
from shared.finishing import tidy
from shared.jobs import Job, JobState
from shared.messages import JobMessage
from shared.notify.outbox import owed
from shared.nudges import nudge
from shared.ports import OpenEntry, Snapshot
from shared.services import Services
from shared.watching_reviews import watch_reviews

log = logging.getLogger("afterhook.sweep")
ORPHAN_AGE = timedelta(minutes=10)
LONGEST_NUDGE_PAUSE = timedelta(hours=1)
# A function that outlives functionTimeout takes the whole worker process with it.
LONGEST_RUN = timedelta(minutes=5)
LONGEST_ALERTING = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Leave:
    """Somebody is at it, or it is too early to tell."""


@dataclass(frozen=True, slots=True)
class RemoveOrphan:
    """The row belongs to no job, or to a release its job never reached."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The release needs nobody any more: its row was left over."""


@dataclass(frozen=True, slots=True)
class File:
    """The job is dead and nobody filed its case."""


@dataclass(frozen=True, slots=True)
class Nudge:
    """No live claim, nothing due: the job's message is repeated."""


Finding = Leave | RemoveOrphan | Finish | File | Nudge


def too_fresh(entry: OpenEntry, now: datetime, grace: timedelta) -> bool:
    """Whether the row may be left alone without a look at its job."""
    last = entry.nudged_at or entry.written_at
    pause = min(grace * 2 ** min(entry.nudges, 20), LONGEST_NUDGE_PAUSE) if entry.nudges else grace
    return now < last + max(pause, grace)


def over(entry: OpenEntry, job: Job) -> bool:
    """Whether the row's release has ended, so that at most the telling of it is left to do."""
    return job.final or entry.release < job.release or (entry.release == job.release and job.case_filed)


def inspect(
    entry: OpenEntry,
    snapshot: Snapshot | None,
    now: datetime,
    grace: timedelta,
    owed_at: datetime | None = None,
) -> Finding:
    """Decide what an open row that is no longer fresh needs. `now` is storage time if known.

    `owed_at` is when an announcement of the release that is over is due, if one is owed: a message that is
    on its way then delivers it.
    """
    if snapshot is not None and over(entry, snapshot.job):
        if owed_at is None:
            return Finish()
        return Leave() if now < owed_at + grace else Nudge()
    if snapshot is None or entry.release > snapshot.job.release:
        return RemoveOrphan() if now - entry.written_at > ORPHAN_AGE else Leave()
    job = snapshot.job
    if job.state is JobState.DEAD:
        return File()
    if now < _quiet_until(job) + grace:
        return Leave()
    return Nudge()


def _quiet_until(job: Job) -> datetime:
    """Until when somebody is known to act: the lease's end, the due time, or the last change."""
    known = [job.updated_at]
    if job.state is JobState.RUNNING and job.lease is not None:
        known.append(job.lease.until)
    if job.not_before is not None:
        known.append(job.not_before)
    return max(known)


@dataclass(slots=True)
class _Run:
    until: datetime
    open_rows: int = 0
    left: int = 0  # not looked at, because the run's time was up
    nudged: int = 0
    bus_away: QueueUnavailable | None = None


class Sweep:
    """Runs on the timer; each run looks at the open index once."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def run(self) -> None:
        """Look at every open row, then send alerts that were not confirmed.

        What a long run does not come to is left to the next one, which passes over the rows nudged in this.
        Raises StorageUnavailable at once, and QueueUnavailable at the end: what needs no bus is done first.
        """
        services, run = self._services, _Run(self._services.clock.now() + LONGEST_RUN)
        grace = timedelta(seconds=services.settings.sweep_grace_seconds)
        async for entry in services.open_index.entries():
            run.open_rows += 1
            if too_fresh(entry, services.clock.now(), grace):
                continue
            if services.clock.now() > run.until:
                run.left += 1
            else:
                await self._look(entry, grace, run)
        await self._alert(grace)
        services.telemetry.observe("open_jobs", run.open_rows)
        await watch_reviews(services)
        if run.left:
            services.telemetry.count("sweeps_cut_short")
            log.warning("sweep ran out of time: %d open rows are left to the next one", run.left)
        if run.nudged:
            log.info("sweep of %d open rows nudged %d jobs", run.open_rows, run.nudged)
        if run.bus_away is not None:
            raise run.bus_away

    async def _alert(self, grace: timedelta) -> None:
        """Send the alerts that were not confirmed, as many as the time for them allows."""
        services = self._services
        until = services.clock.now() + LONGEST_ALERTING
        for group in await services.groups.unalerted():
            if services.clock.now() > until:
                services.telemetry.count("sweeps_cut_short")
                return
            if services.clock.now() - group.first_seen > grace:
                await alert(services, group)

    async def _look(self, entry: OpenEntry, grace: timedelta, run: "_Run") -> None:
        """One row. What is wrong with one job must not keep the sweep from the others."""
        services = self._services
        try:
            snapshot = await services.jobs.load(entry.job_id)
            now = snapshot.read_at if snapshot else services.clock.now()
            finding = inspect(entry, snapshot, now, grace, await self._owed_at(entry, snapshot))
            if not (isinstance(finding, Nudge) and run.bus_away):
                run.nudged += await self._act(entry, snapshot, finding)
        except StorageUnavailable:
            raise
        except QueueUnavailable as error:
            run.bus_away = error
        except Conflict:
            return  # the job moved while it was looked at: somebody is at it
        except Exception as error:  # noqa: BLE001  whatever it is, it is this job's alone
            services.telemetry.count("sweep_failures")
            log.error("sweep of %s: %s at %s", entry.job_id, type(error).__name__, where_raised(error))

    async def _owed_at(self, entry: OpenEntry, snapshot: Snapshot | None) -> datetime | None:
        if snapshot is None or entry.release < snapshot.job.release or not over(entry, snapshot.job):
            return None
        announcement = await owed(self._services, snapshot.job)
        return None if announcement is None else announcement.due_at

    async def _act(self, entry: OpenEntry, snapshot: Snapshot | None, finding: Finding) -> bool:
        """Do what was found; whether it was a nudge."""
        services = self._services
        match finding:
            case Leave():
                return False
            case RemoveOrphan():
                await services.open_index.remove(entry.job_id, entry.release, version=entry.version)
            case Finish():
                assert snapshot is not None
                await tidy(services, snapshot.job, entry.release, version=entry.version)
            case File():
                assert snapshot is not None
                await file_case(services, snapshot)
            case Nudge():
                assert snapshot is not None
                await nudge(services, JobMessage.for_job(snapshot.job))
                await reach(Point.SWEEP_AFTER_NUDGE)
                await services.open_index.note_nudge(entry, services.clock.now())
                services.telemetry.count("sweep_nudges")
                return True
            case _:
                assert_never(finding)
        return False
