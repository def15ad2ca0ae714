"""From a webhook to a stored and queued job.

Order: source, size, signature, freshness, strict parse, route, dedupe by insert, queue, answer. Nothing is
stored for a webhook that is refused, and nothing is acknowledged that is not stored and queued.
"""

import asyncio
import hashlib
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from shared.acceptance import Acceptor
from shared.inputs import PlacedInput, may_use, place_input, store_new_inputs
from shared.jobs import Job, job_id_for
from shared.pipeline import Route, SourcePolicy, Users
from shared.ports import KeyDirectory, Row
from shared.services import Services
from shared.webhooks.base import Reply, WebhookEvent, WebhookRequest
from shared.webhooks.ed25519 import PublicKey
from shared.webhooks.gate import Gate, check_size
from shared.webhooks.large_bodies import Overloaded, aside
from shared.webhooks.parsing import JSON
from shared.webhooks.pseudonyms import event_pseudonym, user_pseudonym
from shared.webhooks.registry import scheme_named
from shared.webhooks.rejections import StaleTimestamp, UnknownSource, WebhookRejected
from shared.webhooks.routing import Extraction, extract, route_for
from shared.webhooks.secrets import SourceSecrets

T = TypeVar("T")
EVENTS_AT_ONCE = 16  # of one batch


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

    def __init__(self, services: Services, secrets: SourceSecrets, directory: KeyDirectory) -> None:
        self._services = services
        self._secrets = secrets
        self._gate = Gate(secrets, directory, services.clock, services.telemetry)

    async def receive(self, source: str, request: WebhookRequest) -> Reply | Sequence[Receipt]:
        """One receipt for each event in the request, or the answer to a handshake.

        All of it within the scheme's `answer_within`, so that the sender hears from us before it gives up.
        Raises WebhookRejected (the sender's fault, nothing was stored), SourceNotConfigured, Overloaded,
        StorageUnavailable or QueueUnavailable (ours: the sender should try again).
        """
        policy = self._policy(source)
        scheme = scheme_named(policy.scheme)
        until = asyncio.get_running_loop().time() + scheme.answer_within
        with self._refusals_counted(policy):
            if request.method == "POST":
                check_size(policy, request)  # before it waits for others
            async with self._services.large_bodies.turn(len(request.body), until):
                admitted = await self._gate.admit(policy, request, until)
                if isinstance(admitted, Reply):
                    return admitted
                receipts = await self._take_all(policy, admitted, request, until)
        return scheme.answer(request) or receipts

    def accepted_status(self, source: str) -> int:
        """The status that the source's sender wants for a new event. Raises UnknownSource."""
        return scheme_named(self._policy(source).scheme).accepted_status

    def _policy(self, source: str) -> SourcePolicy:
        policy = self._services.pipeline.sources.get(source)
        if policy is None:
            raise UnknownSource
        return policy

    @contextmanager
    def _refusals_counted(self, policy: SourcePolicy) -> Iterator[None]:
        try:
            yield
        except (WebhookRejected, Overloaded) as rejection:
            self._services.telemetry.count("webhooks_rejected", source=policy.name, code=rejection.code)
            if isinstance(rejection, StaleTimestamp):
                skew = float(rejection.skew_seconds)
                self._services.telemetry.observe("webhooks_clock_skew_seconds", skew, source=policy.name)
            raise

    async def _take_all(
        self, policy: SourcePolicy, events: Sequence[WebhookEvent], request: WebhookRequest, until: float
    ) -> Sequence[Receipt]:
        """One receipt for each event, by `until`, also while storage hangs.

        What was taken of a batch that then failed is a duplicate when the batch comes again.
        """
        acceptor = Acceptor(self._services)
        turns = asyncio.Semaphore(EVENTS_AT_ONCE)

        async def take(event: WebhookEvent) -> Receipt:
            async with turns:
                return await self._take(policy, event, request, acceptor)

        try:
            async with asyncio.timeout_at(until):
                return await _all([take(event) for event in events])
        except TimeoutError:
            raise acceptor.gave_up() from None

    async def _take(
        self, policy: SourcePolicy, event: WebhookEvent, request: WebhookRequest, acceptor: Acceptor
    ) -> Receipt:
        route = route_for(policy, event.event_type)
        if route is None:
            return Ignored()
        job, rows = await self._prepare(policy, route, event, request)
        acceptance = await acceptor.accept(job, rows)
        telemetry = self._services.telemetry
        if not acceptance.duplicate:
            telemetry.count("webhooks_accepted", source=policy.name, task_type=job.task_type)
        else:
            telemetry.count("webhooks_duplicate", source=policy.name)
        if not acceptance.same_body:
            telemetry.count("webhooks_same_id_other_body", source=policy.name)
        return Accepted(acceptance.job_id, duplicate=acceptance.duplicate)

    async def _prepare(
        self, policy: SourcePolicy, route: Route, event: WebhookEvent, request: WebhookRequest
    ) -> tuple[Job, list[Row]]:
        """The job as it will be inserted, its rows, and (stored already) the blob of a large input."""
        services, now = self._services, self._services.clock.now()
        job_id = job_id_for(policy.name, event.account, event.event_id)
        found, places, digest = await aside(event.raw, lambda: _read(policy, route, event, job_id))
        key = self._pseudonym_key(policy)
        job = Job(
            job_id=job_id,
            source=policy.name,
            account=event_pseudonym(event.account, key),
            event_id=event_pseudonym(event.event_id, key),
            event_type=event.event_type,
            task_type=route.task,
            user_id=user_pseudonym(found.user_id, key, numbers=_users_are_numbers(policy)),
            body_sha256=digest,
            input_ref=places[0].ref if places else found.input_ref,
            traceparent=traceparent(request.headers),
            created_at=now,
            updated_at=now,
            released_at=now,
            event_time=event.event_time,
        )
        note = found.problem
        if note is not None:  # a person needs what was sent
            places.append(place_input(job_id, event.raw, JSON))
            note = f"{note} The event is kept as {places[0].ref}."
        elif job.input_ref is not None and not may_use(services, job, job.input_ref):
            note = "The document lies outside what the source may read (allowed_inputs)."
        elif found.kept is not None:
            kept = place_input(job_id, found.kept, JSON)
            note = f"Kept of the event: {kept.ref}."
            if kept.ref != job.input_ref:  # one row cannot be written twice at once
                places.append(kept)
        rows = [services.timeline(job, "accepted", at=now, note=note)]
        await store_new_inputs(services, job_id, places)
        return job, rows + [placed.row for placed in places if placed.row]

    def _pseudonym_key(self, policy: SourcePolicy) -> bytes | None:
        """The configured key; else the source's current secret, which changes when it is rotated.

        A sender's public key is no secret: with it anybody could undo the hash.
        """
        configured = self._services.settings.pseudonym_key
        if configured is not None:
            return configured.get_secret_value().encode()
        keys = self._secrets.keys_of(policy).keys
        return next((key for key in keys if not isinstance(key, PublicKey)), None)


def _users_are_numbers(policy: SourcePolicy) -> bool:
    return policy.users is Users.NUMBERS or scheme_named(policy.scheme).users_are_numbers


def _read(
    policy: SourcePolicy, route: Route, event: WebhookEvent, job_id: str
) -> tuple[Extraction, list[PlacedInput], str]:
    """What the route takes from the event, where an input of it will lie, and the hash of the event."""
    found = extract(route, event)
    places = [] if found.input is None else [place_input(job_id, found.input, found.content_type)]
    digest = hashlib.sha256()
    for part in scheme_named(policy.scheme).lasting(event):
        digest.update(part)
    return found, places, digest.hexdigest()


async def _all(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results in order, once all have ended: a failure does not cut short the others."""
    results = await asyncio.gather(*work, return_exceptions=True)
    done: list[T] = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        done.append(result)
    return done


def traceparent(headers: Mapping[str, str]) -> str | None:
    """The caller's W3C trace context, if it has the standard's form."""
    value = headers.get("traceparent", "")
    parts = value.split("-")
    lengths = [len(part) for part in parts]
    hexadecimal = all(character in "0123456789abcdef-" for character in value)
    return value if lengths == [2, 32, 16, 2] and hexadecimal else None
