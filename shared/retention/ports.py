"""The index of ended jobs, by the day they ended: what retention reads instead of scanning history."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import date
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedJob:
    """A job that ended on `day` (UTC), and whose contents are, at least in part, still stored.

    `partly` when what is kept for the shorter time has been deleted already.
    """

    job_id: str
    day: date
    partly: bool = False


class RetentionIndex(Protocol):
    async def put(self, ended: EndedJob) -> None:
        """Upsert."""
        ...

    async def remove(self, ended: EndedJob) -> None:
        """Delete if present."""
        ...

    def ended_before(self, day: date, *, partly: bool) -> AsyncIterator[EndedJob]:
        """Those that ended before `day`, oldest day first, page by page; days after are not read."""
        ...
