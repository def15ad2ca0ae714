"""From a caller's request to a stored and queued job: `POST /jobs`.

The caller's idempotency key is what an event's id is to a webhook: the same key is the same job.
"""

import asyncio
import hashlib
import json
from dataclasses import dataclass, field
from typing import ClassVar

from shared.acceptance import Acceptance, Acceptor
from shared.errors import RequestRefused
from shared.inputs import exists, may_use, place_input, store_new_inputs
from shared.jobs import Job, job_id_for
from shared.pipeline import API, Users
from shared.refs import parse_ref
from shared.services import Services
from shared.webhooks.pseudonyms import event_pseudonym, user_pseudonym

ANSWER_WITHIN_SECONDS = 8.0
EVENT_TYPE = "job.requested"


class SubmissionRefused(RequestRefused):
    """The job was not taken; nothing was stored."""


class TaskNotOffered(SubmissionRefused):
    """No task of this type is configured."""

    code: ClassVar[str] = "unknown_task"


class InputNotAllowed(SubmissionRefused):
    """`input_ref` names no document that this caller may read: see [api] allowed_inputs."""

    code: ClassVar[str] = "input_not_allowed"
    status: ClassVar[int] = 403


class InputNotFound(SubmissionRefused):
    """`input_ref` names a document that is not there. Put it into storage first."""

    code: ClassVar[str] = "input_not_found"


class KeyReused(SubmissionRefused):
    """This Idempotency-Key was used with another body. Use a new one for a new job."""

    code: ClassVar[str] = "idempotency_key_reused"
    status: ClassVar[int] = 422


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What a caller asks for: a document in storage, or the input itself."""

    key: str = field(repr=False)
    task_type: str
    input_ref: str | None = None
    content: bytes | None = field(default=None, repr=False)
    content_type: str | None = None
    user_id: str | None = field(default=None, repr=False)
    traceparent: str | None = None

    @property
    def digest(self) -> str:
        """The same for what asks for the same."""
        content = None if self.content is None else hashlib.sha256(self.content).hexdigest()
        parts = [self.task_type, self.input_ref, content, self.content_type, self.user_id]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


async def submit(services: Services, wanted: Submission) -> Acceptance:
    """Raises SubmissionRefused, PseudonymKeyMissing, StorageUnavailable or QueueUnavailable."""
    acceptor = Acceptor(services)
    try:
        async with asyncio.timeout(ANSWER_WITHIN_SECONDS):
            acceptance = await _submit(services, wanted, acceptor)
    except TimeoutError:
        raise acceptor.gave_up() from None
    if not acceptance.same_body:
        services.telemetry.count("jobs_key_reused")
        raise KeyReused
    name = "jobs_duplicate" if acceptance.duplicate else "jobs_accepted"
    services.telemetry.count(name, task_type=wanted.task_type)
    return acceptance


async def _submit(services: Services, wanted: Submission, acceptor: Acceptor) -> Acceptance:
    if wanted.task_type not in services.pipeline.tasks:
        raise TaskNotOffered
    job = _job(services, wanted)
    if wanted.input_ref is not None:
        await _check_document(services, job, wanted.input_ref)
    rows = [services.timeline(job, "accepted", at=job.created_at)]
    if wanted.content is not None:
        placed = place_input(job.job_id, wanted.content, wanted.content_type)
        await store_new_inputs(services, job.job_id, [placed])
        rows += [placed.row] if placed.row else []
    return await acceptor.accept(job, rows)


def _job(services: Services, wanted: Submission) -> Job:
    now = services.clock.now()
    job_id = job_id_for(API, "", wanted.key)
    key = services.settings.pseudonym_key
    secret = None if key is None else key.get_secret_value().encode()
    ref = wanted.input_ref
    if wanted.content is not None:
        ref = place_input(job_id, wanted.content, wanted.content_type).ref
    return Job(
        job_id=job_id,
        source=API,
        account="",
        event_id=event_pseudonym(wanted.key, secret),
        event_type=EVENT_TYPE,
        task_type=wanted.task_type,
        user_id=user_pseudonym(wanted.user_id, secret, numbers=services.pipeline.api.users is Users.NUMBERS),
        body_sha256=wanted.digest,
        input_ref=ref,
        traceparent=wanted.traceparent,
        created_at=now,
        updated_at=now,
        released_at=now,
    )


async def _check_document(services: Services, job: Job, ref: str) -> None:
    """It must be there, unless the job is: a repeat is answered also when its document has gone since."""
    try:
        parse_ref(ref)
    except ValueError as error:
        raise InputNotAllowed(f"`input_ref` is no reference to a document. {error}") from None
    if not may_use(services, job, ref):
        raise InputNotAllowed
    if not await exists(services, job.job_id, ref) and await services.jobs.load(job.job_id) is None:
        raise InputNotFound
