"""`/reviews`, and `/jobs/{job_id}/review`, `approve` and `reject`: for operators, who see a result before it
is published."""

from shared.http.bodies import read_body
from shared.http.decision_bodies import DecisionBody, bad_decision, decision_of
from shared.http.exchange import HttpAnswer, HttpRequest, answer_json
from shared.http.jobs_api import find_job, stored_content
from shared.http.paging import bad_cursor, page_limit
from shared.http.views import pending_view
from shared.jobs import JOB_ID, Review
from shared.reviews import JobNotFound, NoReview, review
from shared.services import Services


async def list_reviews(services: Services, request: HttpRequest) -> HttpAnswer:
    """A page of the jobs whose results wait for a review, the first released first."""
    query = request.query
    limit, cursor = page_limit(query.get("limit")), query.get("cursor")
    try:
        page = await services.reviews.page(query.get("task_type"), limit=limit, cursor=cursor)
    except ValueError:
        raise bad_cursor() from None
    reviews = [pending_view(review) for review in page.reviews]
    return answer_json(200, {"reviews": reviews, "cursor": page.cursor})


async def show_review(services: Services, request: HttpRequest) -> HttpAnswer:
    """The result that waits for a review, or was reviewed, as the task wrote it."""
    snapshot = await find_job(services, request)
    if snapshot.job.review is None:
        raise NoReview
    return await stored_content(services, snapshot.job)


async def approve(services: Services, request: HttpRequest) -> HttpAnswer:
    """Publish the result, and have its end announced."""
    return await _decide(services, request, Review.APPROVED)


async def reject(services: Services, request: HttpRequest) -> HttpAnswer:
    """Withhold the result for good."""
    return await _decide(services, request, Review.REJECTED)


async def _decide(services: Services, request: HttpRequest, verdict: Review) -> HttpAnswer:
    body = read_body(DecisionBody, request, bad_decision)
    job_id = request.params.get("job_id", "")
    if not JOB_ID.fullmatch(job_id):
        raise JobNotFound
    await review(services, job_id, decision_of(body, request), verdict)
    return answer_json(200, {"job_id": job_id, "review": verdict.value})
