"""From a webhook to a stored and queued job.

Order: source, size, signature, freshness, strict parse, route, dedupe by insert, queue, answer. Nothing is
stored for a webhook that is refused, and nothing is acknowledged that is not stored and queued.
"""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from shared.acceptance import Acceptor
from shared.pipeline import SourcePolicy
from shared.preparation import Preparer
from shared.services import Services
from shared.webhooks.base import Reply, WebhookEvent, WebhookRequest
from shared.webhooks.gate import Gate, check_size
from shared.webhooks.key_directory import KeyDirectory
from shared.webhooks.large_bodies import Overloaded
from shared.webhooks.registry import scheme_named
from shared.webhooks.rejections import StaleTimestamp, UnknownSource, WebhookRejected
from shared.webhooks.routing import route_for
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
        self._preparer = Preparer(services, secrets)
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
        job, rows = await self._preparer.prepare(policy, route, event, request.headers)
        acceptance = await acceptor.accept(job, rows)
        telemetry = self._services.telemetry
        if not acceptance.duplicate:
            telemetry.count("webhooks_accepted", source=policy.name, task_type=job.task_type)
        else:
            telemetry.count("webhooks_duplicate", source=policy.name)
        if not acceptance.same_body:
            telemetry.count("webhooks_same_id_other_body", source=policy.name)
        return Accepted(acceptance.job_id, duplicate=acceptance.duplicate)


async def _all(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results in order, once all have ended: a failure does not cut short the others."""
    results = await asyncio.gather(*work, return_exceptions=True)
    done: list[T] = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        done.append(result)
    return done
