"""The application as the triggers see it: one method for each, over one set of services."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from shared.deadletters.handler import DeadLetterHandler
from shared.http import callbacks_api, cases_api, jobs_api, reviews_api, submissions_api, webhooks_api
from shared.http.exchange import HttpAnswer, HttpRequest
from shared.http.health import Health
from shared.intake import Intake
from shared.retention.run import Retention
from shared.services import Services
from shared.sweep import Sweep
from shared.worker.run import Worker

Route = Callable[[Services, HttpRequest], Awaitable[HttpAnswer]]

ROUTES: Mapping[str, Route] = {
    "submit_job": submissions_api.submit_job,
    "put_input": submissions_api.put_input,
    "get_job": jobs_api.get_job,
    "get_result": jobs_api.get_result,
    "cancel_job": jobs_api.cancel_job,
    "list_reviews": reviews_api.list_reviews,
    "show_review": reviews_api.show_review,
    "approve_result": reviews_api.approve,
    "reject_result": reviews_api.reject,
    "list_cases": cases_api.list_cases,
    "show_case": cases_api.show_case,
    "resubmit_case": cases_api.resubmit_case,
    "close_case": cases_api.close_case,
    "reconcile_case": cases_api.reconcile_case,
}
"""The keyed routes, by the name of their function."""


class Application:
    def __init__(
        self, services: Services, intake: Intake, closers: tuple[Callable[[], Awaitable[None]], ...] = ()
    ) -> None:
        self.services = services
        self._intake = intake
        self._worker = Worker(services)
        self._dead_letters = DeadLetterHandler(services)
        self._sweep = Sweep(services)
        self._retention = Retention(services)
        self._health = Health(services)
        self._closers = closers

    async def receive_webhook(self, request: HttpRequest) -> HttpAnswer:
        return await webhooks_api.receive_webhook(self._intake, request)

    async def receive_callback(self, request: HttpRequest) -> HttpAnswer:
        return await callbacks_api.receive_callback(self.services, request)

    async def serve(self, route: str, request: HttpRequest) -> HttpAnswer:
        """One of ROUTES."""
        return await ROUTES[route](self.services, request)

    async def health(self) -> HttpAnswer:
        return await self._health.get()

    async def run_job(self, body: bytes, properties: Mapping[str, Any], message_id: str | None) -> None:
        await self._worker.handle(body, properties, message_id)

    async def file_dead_letter(
        self, body: bytes, properties: Mapping[str, Any], sequence_number: int
    ) -> None:
        await self._dead_letters.handle(body, properties, sequence_number)

    async def sweep(self) -> None:
        await self._sweep.run()

    async def delete_expired(self) -> None:
        await self._retention.run()

    async def aclose(self) -> None:
        for close in self._closers:
            await close()
