"""`/jobs/{job_id}`: the job, its result, and its end before its time."""

import asyncio
from typing import Any

from pydantic import BaseModel, ConfigDict

from shared.cancel import Cancellation, Cancelling, cancel
from shared.http.bodies import idempotency_key, read_body
from shared.http.decision_bodies import Operator, Reason, bad_decision
from shared.http.exchange import BadRequest, HttpAnswer, HttpRequest, answer_json
from shared.http.views import job_view, notification_view
from shared.jobs import JOB_ID, Job, JobState, Review
from shared.notify.outbox import announced
from shared.notify.status import TELLS, notification_state
from shared.ports import RowKind, Snapshot
from shared.services import Services
from shared.worker.results import RESULT_LIMIT


async def get_job(services: Services, request: HttpRequest) -> HttpAnswer:
    """The job with its timeline, what people decided about it, and how far the telling of its end came."""
    job = (await find_job(services, request)).job
    rows = services.jobs.rows
    timeline, decisions, told = await asyncio.gather(
        rows(job.job_id, RowKind.TIMELINE),
        rows(job.job_id, RowKind.DECISION),
        notification_of(services, job),
    )
    return answer_json(200, job_view(job, timeline, decisions, told))


async def notification_of(services: Services, job: Job) -> dict[str, Any] | None:
    """As in `notification_view`; None for a job that is not at an end of which anybody is told."""
    if job.state not in TELLS:
        return None
    said = await announced(services, job)
    return notification_view(notification_state(services, job, said), said)


async def get_result(services: Services, request: HttpRequest) -> HttpAnswer:
    """The stored result, as the task wrote it."""
    snapshot = await find_job(services, request)
    job = snapshot.job
    if job.state is not JobState.SUCCEEDED or job.result is None:
        text = f"The job is {job.state}; a result is there once it has succeeded."
        raise BadRequest(text, code="no_result", status=409 if not job.final else 404)
    if job.review is Review.PENDING:
        text = "The result waits for a review. An operator approves or rejects it."
        raise BadRequest(text, code="awaiting_review", status=409)
    if job.review is Review.REJECTED:
        raise BadRequest("The result was rejected and is not published.", code="result_rejected", status=410)
    return await stored_content(services, job)


async def stored_content(services: Services, job: Job) -> HttpAnswer:
    """The result as it is stored. Raises BadRequest when there is none any more."""
    content = None
    if job.result is not None and not job.result_gone:
        content = await services.blobs.read(job.result.ref, max_bytes=RESULT_LIMIT)
    if job.result is None or content is None:
        raise BadRequest("The result is no longer stored.", code="result_gone", status=410)
    return HttpAnswer(status=200, body=content, content_type=job.result.content_type)


class CancelBody(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    operator: Operator | None = None
    reason: Reason


async def cancel_job(services: Services, request: HttpRequest) -> HttpAnswer:
    """200 for a job that is cancelled, 202 for one whose worker is told to stop."""
    body = read_body(CancelBody, request, bad_decision)
    wanted = Cancellation(
        operator=body.operator, reason=body.reason, idempotency_key=idempotency_key(request)
    )
    snapshot = await find_job(services, request)
    done = await cancel(services, snapshot, wanted)
    status = 200 if done is Cancelling.CANCELLED else 202
    return answer_json(status, {"job_id": snapshot.job.job_id, "status": done.value})


async def find_job(services: Services, request: HttpRequest) -> Snapshot:
    job_id = request.params.get("job_id", "")
    snapshot = await services.jobs.load(job_id) if JOB_ID.fullmatch(job_id) else None
    if snapshot is None:
        raise BadRequest("There is no job of this id.", code="job_not_found", status=404)
    return snapshot
