"""What is asked of one job over HTTP."""

import json
from typing import Any

from shared.http.exchange import HttpAnswer
from shared.services import Services
from tests.unit.shared.http.serving import call


async def cancel(services: Services, job_id: str, body: Any, *, key: str | None = None) -> HttpAnswer:
    return await call(services, "cancel_job", job_id, body, key=key)


async def show(services: Services, job_id: str) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads((await call(services, "get_job", job_id)).body)
    return shown
