"""Writing under a claim: a worker's outcome counts only while the row still carries its claim.

Storage may be away or lose an answer at any moment. The commit is repeated while the lease lasts, and
after each doubt the row itself says whether it was applied, may be applied again, or belongs to another.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from shared.errors import ClaimLost, Conflict, StorageUnavailable
from shared.jobs import Job, JobState
from shared.ports import Row, Snapshot
from shared.services import Services

T = TypeVar("T")
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 10.0


class Claim:
    """A worker's hold on one job: the row as it was last written under it, and when the lease ends."""

    def __init__(self, services: Services, snapshot: Snapshot, until: datetime) -> None:
        self.services = services
        self.snapshot = snapshot
        self.until = until
        self.started_at = snapshot.job.updated_at
        self._in_doubt = False

    @property
    def job(self) -> Job:
        return self.snapshot.job

    async def commit(self, change: Callable[[Job], Job], rows: Sequence[Row] = ()) -> None:
        """Write `change(job)` and `rows`. Raises ClaimLost; StorageUnavailable when the lease ends first."""
        self._in_doubt = True
        written = await commit_under_claim(self.services, self.snapshot, change, rows, self.until)
        if written is None:
            raise ClaimLost
        self.snapshot, self._in_doubt = written, False

    async def look_again(self) -> None:
        """Read the row again if a write was cut off before its answer came, as by the attempt's time limit.

        Raises ClaimLost; StorageUnavailable when the lease ends first.
        """
        if not self._in_doubt:
            return
        services, job = self.services, self.job
        reread = await self.outlast_outage(lambda: services.jobs.load(job.job_id))
        if reread is None or reread.job.claim != job.claim or reread.job.state is not JobState.RUNNING:
            raise ClaimLost
        self.snapshot, self._in_doubt = reread, False

    async def outlast_outage(self, call: Callable[[], Awaitable[T]]) -> T:
        """Repeat `call` while storage is away and the lease lasts; then raise StorageUnavailable."""
        return await outlast_outage(self.services, call, self.until)


async def outlast_outage(services: Services, call: Callable[[], Awaitable[T]], until: datetime) -> T:
    """Repeat `call` while storage is away, until `until`; then raise StorageUnavailable."""
    pause = _FIRST_PAUSE
    while True:
        try:
            return await call()
        except StorageUnavailable:
            if services.clock.now() + timedelta(seconds=pause) > until:
                raise
        await services.clock.sleep(pause * (1 + services.randomness.fraction()) / 2)
        pause = min(pause * 2, _LONGEST_PAUSE)


async def commit_under_claim(
    services: Services,
    claimed: Snapshot,
    change: Callable[[Job], Job],
    rows: Sequence[Row],
    until: datetime,
) -> Snapshot | None:
    """Write `change(job)` and `rows` while the claim is ours; None when another has taken over.

    A row that somebody else changed without touching the claim (a cancel's flag) is read again, and the
    change applied to it. Raises StorageUnavailable when storage stays away until `until`.
    """
    claim = claimed.job.claim
    current = claimed
    while True:
        target = change(current.job)
        snapshot, wanted = current, target

        async def commit(snapshot: Snapshot = snapshot, wanted: Job = wanted) -> Snapshot:
            return await services.jobs.commit(snapshot, wanted, rows)

        try:
            return await outlast_outage(services, commit, until)
        except Conflict:
            reread = await outlast_outage(services, lambda: services.jobs.load(claimed.job.job_id), until)
        if reread is None or reread.job.claim != claim:
            return None
        if target.state is not JobState.RUNNING and reread.job.state is target.state:
            return reread
        if reread.job.state is not JobState.RUNNING:
            return None
        current = reread
