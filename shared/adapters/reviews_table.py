"""The list of pending reviews: one partition, whose rows come back in the order of release.

One partition is enough: the service takes 2,000 writes a second in it, more than people ever judge results.
"""

from shared.adapters.connections import Connections
from shared.adapters.cursors import from_cursor, to_cursor
from shared.adapters.limits import check_key
from shared.adapters.tables import Columns, Found, Table
from shared.pending_reviews import PendingPage, PendingReview
from shared.records import RecordUnreadable, from_text, to_text

LIST = "pending"
_SCANNED = 1000  # rows read for one page, whatever the task type
_AFTER = "PartitionKey eq @list and RowKey gt @after"


class ReviewsTable:
    """PendingReviews over the table `reviews`."""

    def __init__(self, connections: Connections, table: str = "reviews") -> None:
        self._table = Table(connections, table)

    async def put(self, review: PendingReview) -> None:
        await self._table.create(_columns(review))

    async def remove(self, review: PendingReview) -> None:
        await self._table.delete(LIST, review_key(review))

    async def page(self, task_type: str | None, *, limit: int, cursor: str | None) -> PendingPage:
        after = "" if cursor is None else from_cursor(LIST, cursor)
        if limit < 1:
            raise ValueError("A page has at least one review.")
        size = _SCANNED if task_type is not None else limit + 1
        pages = self._table.query(_AFTER, {"list": LIST, "after": after}, size=size)
        reviews: list[PendingReview] = []
        scanned = 0
        while pages.more and scanned < _SCANNED:
            for found in await pages.next():
                if len(reviews) == limit:
                    return PendingPage(reviews=tuple(reviews), cursor=to_cursor(LIST, after))
                scanned += 1
                after = str(found.columns["RowKey"])
                review = _review(found)
                if task_type in (None, review.task_type):
                    reviews.append(review)
        more = pages.more and after
        return PendingPage(reviews=tuple(reviews), cursor=to_cursor(LIST, after) if more else None)


def review_key(review: PendingReview) -> str:
    """The job's place: by its release, and by its id among those of one moment."""
    return f"{review.released_at:%Y%m%dT%H%M%S.%f}:{check_key(review.job_id, 'the job id')}"


def _columns(review: PendingReview) -> Columns:
    return {
        "PartitionKey": LIST,
        "RowKey": review_key(review),
        "record": to_text(review),
        "task_type": review.task_type,
    }


def _review(found: Found) -> PendingReview:
    record = found.columns.get("record")
    if not isinstance(record, str):
        raise RecordUnreadable("A stored review has no record.")
    return from_text(PendingReview, record)
