"""The list of results that wait for a person's look: a projection of the jobs' rows, repaired from them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shared.jobs import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingReview:
    """A job whose result waits since `since`. `released_at` gives its place in the list; `size` in bytes."""

    job_id: str
    release: int
    task_type: str
    source: str
    released_at: datetime
    since: datetime
    content_type: str | None
    size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingPage:
    reviews: tuple[PendingReview, ...]
    cursor: str | None  # opaque; None on the last page


class PendingReviews(Protocol):
    """What waits, in the order in which the jobs were released, so that the longest waiting come first."""

    async def put(self, review: PendingReview) -> None:
        """List it; what is listed stays as it is."""
        ...

    async def remove(self, review: PendingReview) -> None:
        """Take the job off the list, if it is on it. Only `job_id` and `released_at` count."""
        ...

    async def page(self, task_type: str | None, *, limit: int, cursor: str | None) -> PendingPage:
        """Up to `limit` of that task type, or of all. Raises ValueError for a cursor that is none of ours."""
        ...


def pending_review(job: Job) -> PendingReview:
    """The entry of a job that has succeeded; its place is the same however often it is made."""
    return PendingReview(
        job_id=job.job_id,
        release=job.release,
        task_type=job.task_type,
        source=job.source,
        released_at=job.released_at,
        since=job.updated_at,
        content_type=job.result.content_type if job.result else None,
        size=job.result.size if job.result else None,
    )
