"""Calls of the desk's routes, and bodies of decisions."""

import json
from typing import Any

from shared.http.exchange import HttpAnswer
from shared.services import Services
from tests.unit.shared.http import serving

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
    answer = await serving.call(services, route, case_id, body, query=query, key=key)
    return answer.status, read(answer)


def read(answer: HttpAnswer) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(answer.body)
    if answer.status >= 400:
        assert answer.content_type == "application/problem+json"
        assert set(document) == {"type", "title", "status", "detail", "code"}
        assert document["status"] == answer.status
    return document
