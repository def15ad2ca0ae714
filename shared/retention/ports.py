"""The index of ended jobs, by the day they ended: what retention reads instead of scanning history."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, date
from enum import StrEnum
from typing import Protocol

from shared.jobs import Job


class Left(StrEnum):
    """What of an ended job's contents may still be stored."""

    ALL = "all"
    INPUTS = "inputs"
    RESULTS = "results"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedJob:
    """A job that ended on `day` (UTC)."""

    job_id: str
    day: date
    left: Left = Left.ALL


def ended(job: Job, left: Left = Left.ALL) -> EndedJob:
    """The entry of a job that is settled."""
    return EndedJob(job_id=job.job_id, day=job.updated_at.astimezone(UTC).date(), left=left)


class RetentionIndex(Protocol):
    async def put(self, ended: EndedJob) -> None:
        """Upsert."""
        ...

    async def remove(self, ended: EndedJob) -> None:
        """Delete if present."""
        ...

    def ended_before(self, day: date, left: Left) -> AsyncIterator[EndedJob]:
        """Those that ended before `day`, oldest day first, page by page; days after are not read."""
        ...
