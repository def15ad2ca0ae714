"""From a webhook to a stored and queued job.

Order: source, size, signature, freshness, strict parse, route, dedupe by insert, queue, answer. Nothing is
stored for a webhook that is refused, and nothing is acknowledged that is not stored and queued.
"""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from shared.errors import QueueUnavailable, StorageUnavailable
from shared.failpoints import Point, reach
from shared.inputs import may_use, place_input, store_input
from shared.jobs import Job, JobState, job_id_for
from shared.messages import JobMessage
from shared.pipeline import Route, SourcePolicy
from shared.ports import Row
from shared.services import Services
from shared.webhooks.base import WebhookEvent, WebhookRequest
from shared.webhooks.parsing import JSON
from shared.webhooks.pseudonyms import event_pseudonym, user_pseudonym
from shared.webhooks.registry import scheme_named
from shared.webhooks.rejections import BodyTooLarge, LengthRequired, UnknownSource, WebhookRejected
from shared.webhooks.routing import extract, route_for
from shared.webhooks.secrets import SourceSecrets
from shared.webhooks.verification import verify

T = TypeVar("T")
ANSWER_WITHIN_SECONDS = 8.0  # GitHub waits ten, Twilio fifteen
LARGE_BODY = 128 * 1024  # strict JSON of this size takes about ten milliseconds


@dataclass(frozen=True, slots=True)
class Accepted:
    job_id: str
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Ignored:
    """Verified, but no route wants this type of event."""


Receipt = Accepted | Ignored


class Intake:
    """Takes webhooks for all configured sources."""

    def __init__(self, services: Services, secrets: SourceSecrets) -> None:
        self._services = services
        self._secrets = secrets

    async def receive(self, source: str, request: WebhookRequest) -> Sequence[Receipt]:
        """One receipt for each event in the request.

        Raises WebhookRejected (the sender's fault, nothing was stored), SourceNotConfigured,
        StorageUnavailable or QueueUnavailable (ours: the sender should try again).
        """
        policy = self._services.pipeline.sources.get(source)
        if policy is None:
            raise UnknownSource
        try:
            _check_size(policy, request)
            events = await self._verified(policy, request)
        except WebhookRejected as rejection:
            self._services.telemetry.count("webhooks_rejected", source=source, code=rejection.code)
            raise
        return [await self._within_deadline(policy, event, request) for event in events]

    async def _verified(self, policy: SourcePolicy, request: WebhookRequest) -> Sequence[WebhookEvent]:
        """The events of the request, if it is the sender's."""
        keys = self._secrets.keys_of(policy)
        scheme = scheme_named(policy.scheme)
        now = self._services.clock.now()
        verified = await _aside(request, lambda: verify(scheme, request, keys, now, policy.tolerance))
        secret = policy.secrets[verified.secret_index]
        self._services.telemetry.count("webhooks_verified", source=policy.name, secret=secret)
        return await _aside(request, lambda: scheme.read(request))

    async def _within_deadline(
        self, policy: SourcePolicy, event: WebhookEvent, request: WebhookRequest
    ) -> Receipt:
        """Bounded, so that the sender hears from us before it gives up, also while storage hangs."""
        stage = _Stage()
        try:
            async with asyncio.timeout(ANSWER_WITHIN_SECONDS):
                return await self._take(policy, event, request, stage)
        except TimeoutError:
            if stage.stored:
                raise QueueUnavailable("The message bus did not answer in time.") from None
            raise StorageUnavailable("The storage account did not answer in time.") from None

    async def _take(
        self, policy: SourcePolicy, event: WebhookEvent, request: WebhookRequest, stage: "_Stage"
    ) -> Receipt:
        route = route_for(policy, event.event_type)
        if route is None:
            return Ignored()
        job, rows = await self._prepare(policy, route, event, request)
        inserted = await self._store(job, rows)
        stage.stored = True
        if not inserted:
            return await self._duplicate(job)
        await reach(Point.INTAKE_BEFORE_SEND)
        await self._services.bus.send(JobMessage.for_job(job))
        await reach(Point.INTAKE_AFTER_SEND)
        self._services.telemetry.count("webhooks_accepted", source=policy.name, task_type=job.task_type)
        return Accepted(job.job_id, duplicate=False)

    async def _prepare(
        self, policy: SourcePolicy, route: Route, event: WebhookEvent, request: WebhookRequest
    ) -> tuple[Job, list[Row]]:
        """The job as it will be inserted, its rows, and (stored already) the blob of a large input."""
        services, now = self._services, self._services.clock.now()
        job_id = job_id_for(policy.name, event.account, event.event_id)
        found = await _aside(request, lambda: extract(route, event))
        placed = place_input(job_id, found.input, found.content_type) if found.input is not None else None
        key = self._pseudonym_key(policy)
        job = Job(
            job_id=job_id,
            source=policy.name,
            account=event_pseudonym(event.account, key),
            event_id=event_pseudonym(event.event_id, key),
            event_type=event.event_type,
            task_type=route.task,
            user_id=user_pseudonym(found.user_id, key),
            body_sha256=hashlib.sha256(event.raw).hexdigest(),
            input_ref=placed.ref if placed else found.input_ref,
            traceparent=_traceparent(request),
            created_at=now,
            updated_at=now,
            released_at=now,
            event_time=event.event_time,
        )
        note = found.problem
        if note is not None:  # a person needs what was sent
            placed = place_input(job_id, event.raw, JSON)
            note = f"{note} The event is kept as {placed.ref}."
        elif job.input_ref is not None and not may_use(services, job, job.input_ref):
            note = "The document lies outside what the source may read (allowed_inputs)."
        rows = [services.timeline(job, "accepted", at=now, note=note)]
        if placed is not None:
            await store_input(services, placed)
            rows += [placed.row] if placed.row else []
        return job, rows

    def _pseudonym_key(self, policy: SourcePolicy) -> bytes:
        """The configured key; else the source's current secret, which changes when it is rotated."""
        configured = self._services.settings.pseudonym_key
        if configured is not None:
            return configured.get_secret_value().encode()
        return self._secrets.keys_of(policy).keys[0]

    async def _store(self, job: Job, rows: Sequence[Row]) -> bool:
        """Insert the job and its open row at the same time; both are confirmed on return."""
        await reach(Point.INTAKE_BEFORE_STORE)
        inserted, opened = await asyncio.gather(
            self._insert(job, rows), self._open(job), return_exceptions=True
        )
        for outcome in (inserted, opened):
            if isinstance(outcome, BaseException):
                raise outcome
        return inserted is True

    async def _insert(self, job: Job, rows: Sequence[Row]) -> bool:
        await reach(Point.INTAKE_BEFORE_JOB_ROW)
        inserted = await self._services.jobs.insert(job, rows)
        await reach(Point.INTAKE_AFTER_JOB_ROW)
        return inserted

    async def _open(self, job: Job) -> None:
        await reach(Point.INTAKE_BEFORE_OPEN_ROW)
        await self._services.open_index.put(job.job_id, job.release)
        await reach(Point.INTAKE_AFTER_OPEN_ROW)

    async def _duplicate(self, job: Job) -> Accepted:
        """The event is known. Its message is sent again if it may never have been sent."""
        services = self._services
        services.telemetry.count("webhooks_duplicate", source=job.source)
        snapshot = await services.jobs.load(job.job_id)
        if snapshot is None:
            raise StorageUnavailable("The job's row was there a moment ago and is not now.")
        existing = snapshot.job
        if existing.body_sha256 != job.body_sha256:
            services.telemetry.count("webhooks_same_id_other_body", source=job.source)
            row = services.timeline(existing, "same_id_other_body")
            await services.jobs.add_row(existing.job_id, row)
        if existing.final or existing.case_filed or existing.release > job.release:
            await services.open_index.remove(job.job_id, job.release)
        elif existing.state is JobState.QUEUED and existing.claim == 0:
            # The turn's own message id: had it been sent, duplicate detection drops this one.
            await reach(Point.INTAKE_BEFORE_SEND)
            await services.bus.send(JobMessage.for_job(existing))
            await reach(Point.INTAKE_AFTER_SEND)
        return Accepted(job.job_id, duplicate=True)


@dataclass(slots=True)
class _Stage:
    stored: bool = False


async def _aside(request: WebhookRequest, work: Callable[[], T]) -> T:
    """`work`, in a thread where the body is so large that it would hold up the event loop."""
    return await asyncio.to_thread(work) if len(request.body) > LARGE_BODY else work()


def _check_size(policy: SourcePolicy, request: WebhookRequest) -> None:
    """The platform hands over a body only with a Content-Length; a chunked one arrives empty."""
    length = request.headers.get("content-length", "").strip()
    if not (length.isascii() and length.isdigit()):
        raise LengthRequired
    if len(request.body) > policy.max_body or int(length[:20]) > policy.max_body:
        raise BodyTooLarge(f"The body is over this source's limit of {policy.max_body:,} bytes.")


def _traceparent(request: WebhookRequest) -> str | None:
    """The caller's W3C trace context, if it has the standard's form."""
    value = request.headers.get("traceparent", "")
    parts = value.split("-")
    lengths = [len(part) for part in parts]
    hexadecimal = all(character in "0123456789abcdef-" for character in value)
    return value if lengths == [2, 32, 16, 2] and hexadecimal else None
