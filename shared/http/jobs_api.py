"""`GET /jobs/{job_id}` and its result."""

from shared.http.exchange import BadRequest, HttpAnswer, HttpRequest, answer_json
from shared.http.views import job_view
from shared.jobs import JOB_ID, JobState
from shared.ports import RowKind, Snapshot
from shared.services import Services
from shared.worker.results import RESULT_LIMIT


async def get_job(services: Services, request: HttpRequest) -> HttpAnswer:
    """The job with its timeline."""
    snapshot = await _find(services, request)
    timeline = await services.jobs.rows(snapshot.job.job_id, RowKind.TIMELINE)
    return answer_json(200, job_view(snapshot.job, timeline))


async def get_result(services: Services, request: HttpRequest) -> HttpAnswer:
    """The stored result, as the task wrote it."""
    snapshot = await _find(services, request)
    job = snapshot.job
    if job.state is not JobState.SUCCEEDED or job.result is None:
        text = f"The job is {job.state}; a result is there once it has succeeded."
        raise BadRequest(text, code="no_result", status=409 if not job.final else 404)
    content = await services.blobs.read(job.result.ref, max_bytes=RESULT_LIMIT)
    if content is None:
        raise BadRequest("The result is no longer stored.", code="result_gone", status=410)
    return HttpAnswer(status=200, body=content, content_type=job.result.content_type)


async def _find(services: Services, request: HttpRequest) -> Snapshot:
    job_id = request.params.get("job_id", "")
    snapshot = await services.jobs.load(job_id) if JOB_ID.fullmatch(job_id) else None
    if snapshot is None:
        raise BadRequest("There is no job of this id.", code="job_not_found", status=404)
    return snapshot
