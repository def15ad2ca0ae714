"""The contract of PendingReviews."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from shared.pending_reviews import PendingReview, PendingReviews
from tests.contract.stores import Stores
from tests.support.records import MOMENT, minutes_later


def a_review(number: int = 0, **changes: Any) -> PendingReview:
    """The review of a job that was released `number` minutes after the first one."""
    review = PendingReview(
        job_id=f"job_{number:02d}",
        release=0,
        task_type="generate_video",
        source="events",
        released_at=minutes_later(number),
        since=minutes_later(number + 1),
        content_type="video/mp4",
        size=1000,
    )
    return replace(review, **changes)


async def listed(
    reviews: PendingReviews, task_type: str | None = None, limit: int = 3
) -> list[PendingReview]:
    """The whole list, page by page."""
    page = await reviews.page(task_type, limit=limit, cursor=None)
    found = list(page.reviews)
    while page.cursor is not None:
        page = await reviews.page(task_type, limit=limit, cursor=page.cursor)
        assert len(page.reviews) <= limit
        found += page.reviews
    return found


async def test_nothing_waits_at_first(stores: Stores) -> None:
    assert await listed(stores.reviews) == []
    await stores.reviews.remove(a_review())


async def test_the_first_released_come_first_over_many_pages(stores: Stores) -> None:
    wanted = [a_review(number) for number in range(10)]
    wanted.append(a_review(9, job_id="job_10"))
    await asyncio.gather(*(stores.reviews.put(review) for review in reversed(wanted)))
    assert await listed(stores.reviews) == wanted
    assert len((await stores.reviews.page(None, limit=4, cursor=None)).reviews) == 4
    assert (await stores.reviews.page(None, limit=11, cursor=None)).cursor is None


async def test_only_one_kind_of_task_is_listed_where_one_is_asked_for(stores: Stores) -> None:
    kinds = ["generate_video", "summarize_document"]
    for number in range(8):
        await stores.reviews.put(a_review(number, task_type=kinds[number % 2]))
    found = await listed(stores.reviews, "summarize_document")
    assert [review.job_id for review in found] == ["job_01", "job_03", "job_05", "job_07"]
    assert await listed(stores.reviews, "other") == []


async def test_what_is_listed_stays_as_it_is_until_it_is_removed(stores: Stores) -> None:
    await stores.reviews.put(a_review())
    await stores.reviews.put(a_review(since=minutes_later(90)))
    assert await listed(stores.reviews) == [a_review()]
    await stores.reviews.put(a_review(1))
    await stores.reviews.remove(a_review(since=MOMENT, size=None))
    assert await listed(stores.reviews) == [a_review(1)]
    await stores.reviews.put(a_review(since=minutes_later(90)))
    assert (await listed(stores.reviews))[0].since == minutes_later(90)


@pytest.mark.parametrize("cursor", ["", "MARKED", "WyJvcGVuIiwiYSJd"])
async def test_a_cursor_of_no_page_of_this_list_is_refused(stores: Stores, cursor: str) -> None:
    with pytest.raises(ValueError, match="cursor"):
        await stores.reviews.page(None, limit=1, cursor=cursor)


async def test_an_empty_page_is_refused(stores: Stores) -> None:
    with pytest.raises(ValueError, match="at least one"):
        await stores.reviews.page(None, limit=0, cursor=None)


async def test_an_id_that_no_storage_takes_is_refused(stores: Stores) -> None:
    with pytest.raises(ValueError, match="job id"):
        await stores.reviews.put(a_review(job_id="a/b"))
