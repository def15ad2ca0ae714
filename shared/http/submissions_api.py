"""`POST /jobs` and `PUT /inputs/{name}`: for callers that are not webhooks."""

import asyncio
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from shared.http.bodies import check_size, content_of, idempotency_key, read_body, wrong_fields
from shared.http.exchange import BadRequest, HttpAnswer, HttpRequest, answer_json, unavailable
from shared.preparation import traceparent
from shared.services import Services
from shared.submission import ANSWER_WITHIN_SECONDS, Submission, submit
from shared.uploads import upload
from shared.webhooks.large_bodies import Overloaded, aside
from shared.webhooks.routing import JSON, TEXT

_SHAPES = {
    "task_type": "the name of a task, text of 1 to 100 characters",
    "input_ref": "text of 1 to 1100 characters",
    "user_id": "text of 1 to 200 characters",
}


class SubmitBody(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    task_type: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    input_ref: Annotated[str, StringConstraints(min_length=1, max_length=1100)] | None = None
    input: Any = None
    user_id: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None


async def submit_job(services: Services, request: HttpRequest) -> HttpAnswer:
    """202 for a new job, 200 for one that this Idempotency-Key started before."""
    key = idempotency_key(request)
    if key is None:
        text = "Send an `Idempotency-Key` header: a repeat with the same key is the same job."
        raise BadRequest(text, code="idempotency_key_required")
    check_size(request)
    until = asyncio.get_running_loop().time() + ANSWER_WITHIN_SECONDS
    try:
        async with services.large_bodies.turn(len(request.body), until):
            return await _submit(services, request, key, until)
    except Overloaded as error:
        return unavailable(error.code, str(error))


async def _submit(services: Services, request: HttpRequest, key: str, until: float) -> HttpAnswer:
    body = await aside(request.body, lambda: read_body(SubmitBody, request, _bad_submission), until)
    if (body.input_ref is None) == (body.input is None):
        raise BadRequest("Give `input_ref` or `input`, and not both.")
    acceptance = await submit(
        services,
        Submission(
            key=key,
            task_type=body.task_type,
            input_ref=body.input_ref,
            content=content_of(body.input),
            content_type=None if body.input is None else TEXT if isinstance(body.input, str) else JSON,
            user_id=body.user_id,
            traceparent=traceparent(request.headers),
        ),
    )
    document = {"status": "accepted", "job_id": acceptance.job_id, "duplicate": acceptance.duplicate}
    return answer_json(200 if acceptance.duplicate else 202, document)


async def put_input(services: Services, request: HttpRequest) -> HttpAnswer:
    """201 with the reference of the stored document, 200 when this very one was stored before."""
    if not request.headers.get("content-length", "").strip():
        text = "Send a Content-Length; a chunked body does not reach the app."
        raise BadRequest(text, code="length_required", status=411)
    name, kind = request.params.get("name", ""), request.headers.get("content-type")
    try:
        stored = await upload(services, name, request.body, kind)
    except Overloaded as error:
        return unavailable(error.code, str(error))
    document = {
        "input_ref": stored.ref,
        "size": stored.size,
        "sha256": stored.sha256,
        "content_type": stored.content_type,
    }
    return answer_json(201 if stored.created else 200, document)


def _bad_submission(model: type[SubmitBody], error: ValidationError) -> BadRequest:
    texts, _ = wrong_fields(model, error, _SHAPES)
    return BadRequest(" ".join(texts))
