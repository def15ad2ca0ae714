"""Requests to the application's routes."""

import json
from typing import Any

from shared.application import Application
from shared.http.exchange import HttpAnswer, HttpRequest, answered
from shared.services import Services
from tests.support.application import build_intake


async def serve(services: Services, route: str, request: HttpRequest) -> HttpAnswer:
    application = Application(services, build_intake(services))
    return await answered(lambda: application.serve(route, request))


async def call(
    services: Services,
    route: str,
    job_id: str = "",
    body: Any = None,
    *,
    query: dict[str, str] | None = None,
    key: str | None = None,
) -> HttpAnswer:
    """A GET, or with a body (bytes as they are, all else as JSON) a POST."""
    request = HttpRequest(
        method="GET" if body is None else "POST",
        url="http://localhost/api",
        headers={} if key is None else {"idempotency-key": key},
        params={"job_id": job_id},
        query=query or {},
        body=body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode(),
    )
    return await serve(services, route, request)
