"""The list of pending reviews in memory."""

from shared.adapters.cursors import from_cursor, to_cursor
from shared.adapters.reviews_table import LIST, review_key
from shared.pending_reviews import PendingPage, PendingReview
from shared.records import from_text, to_text
from tests.support.fakes.faults import Faults


class FakePendingReviews(Faults):
    def __init__(self) -> None:
        super().__init__()
        self._texts: dict[str, str] = {}

    async def put(self, review: PendingReview) -> None:
        key = review_key(review)
        async with self._call("put"):
            self._texts.setdefault(key, to_text(review))

    async def remove(self, review: PendingReview) -> None:
        key = review_key(review)
        async with self._call("remove"):
            self._texts.pop(key, None)

    async def page(self, task_type: str | None, *, limit: int, cursor: str | None) -> PendingPage:
        after = "" if cursor is None else from_cursor(LIST, cursor)
        if limit < 1:
            raise ValueError("A page has at least one review.")
        async with self._call("page"):
            rest = [each for each in self.all_reviews() if review_key(each) > after]
        found = [each for each in rest if task_type in (None, each.task_type)]
        page = tuple(found[:limit])
        more = len(found) > limit
        return PendingPage(reviews=page, cursor=to_cursor(LIST, review_key(page[-1])) if more else None)

    def all_reviews(self) -> list[PendingReview]:
        """Every entry in the order of the list, for assertions."""
        return [from_text(PendingReview, text) for _, text in sorted(self._texts.items())]
