"""Calls of the desk's routes, and bodies of decisions."""

import json
from typing import Any

from shared.application import Application
from shared.http.exchange import HttpAnswer, HttpRequest, answered
from shared.services import Services
from tests.support.application import build_intake

DECISION = {"operator": "ada", "reason": "It is there now."}
RECONCILE = DECISION | {"effect": "submit", "outcome": "done", "external_id": "video_7"}


async def call(
    services: Services,
    route: str,
    case_id: str = "",
    body: Any = None,
    *,
    query: dict[str, str] | None = None,
    key: str | None = None,
) -> tuple[int, dict[str, Any]]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
    request = HttpRequest(
        method="POST" if body is not None else "GET",
        url="http://localhost/api",
        headers={} if key is None else {"idempotency-key": key},
        params={"job_id": case_id},
        query=query or {},
        body=raw,
    )
    application = Application(services, build_intake(services))
    answer = await answered(lambda: application.serve(route, request))
    return answer.status, read(answer)


def read(answer: HttpAnswer) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(answer.body)
    if answer.status >= 400:
        assert answer.content_type == "application/problem+json"
        assert set(document) == {"type", "title", "status", "detail", "code"}
        assert document["status"] == answer.status
    return document
