"""The sweep's look at the list of what waits for a review: how much, for how long, and whether it is true.

A worker that was frozen while others ended its job, and a person judged it, may list it once more and die
before it sees that. Nothing else would come back to such a job, so each run looks at a few of the list's.
"""

from collections.abc import Sequence

from shared.jobs import Review
from shared.pending_reviews import PendingReview
from shared.records import RecordUnreadable
from shared.services import Services

COUNTED = 500  # one page
CHECKED = 5


async def watch_reviews(services: Services) -> None:
    """Measure the list, as far as COUNTED, and take off it what of CHECKED jobs no longer waits."""
    now = services.clock.now()
    page = await services.reviews.page(None, limit=COUNTED, cursor=None)
    waited = [(now - review.since).total_seconds() for review in page.reviews]
    services.telemetry.observe("reviews_pending", len(waited))
    services.telemetry.observe("reviews_oldest_seconds", max(waited, default=0.0))
    for review in _some(page.reviews, services.randomness.fraction()):
        try:
            snapshot = await services.jobs.load(review.job_id)
        except RecordUnreadable:
            services.telemetry.count("sweep_failures")
            continue
        if snapshot is None or snapshot.job.review is not Review.PENDING:
            await services.reviews.remove(review)


def _some(reviews: Sequence[PendingReview], fraction: float) -> Sequence[PendingReview]:
    """Others each time, so that in time none is left out."""
    first = int(fraction * len(reviews))
    return [*reviews[first:], *reviews[:first]][:CHECKED]
