"""`GET /health`: whether the app can take webhooks; asked by many, checked at most every five seconds."""

import asyncio
from datetime import datetime, timedelta

from shared.errors import QueueUnavailable, StorageUnavailable
from shared.http.exchange import HttpAnswer, answer_json, unavailable
from shared.services import Services

CHECK_EVERY = timedelta(seconds=5)
_NO_JOB = "job_" + "a" * 26


class Health:
    """Remembers the last check, so that a flood of probes costs storage and bus nothing."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._checked_at: datetime | None = None
        self._problem: str | None = None
        self._lock = asyncio.Lock()

    async def get(self) -> HttpAnswer:
        """200, or 503 without saying to strangers what is away."""
        async with self._lock:
            now = self._services.clock.now()
            if self._checked_at is None or now - self._checked_at >= CHECK_EVERY:
                self._problem = await self._check()
                self._checked_at = self._services.clock.now()
        if self._problem is None:
            return answer_json(200, {"status": "ok"})
        return unavailable("unhealthy", "The app cannot take webhooks now.")

    async def _check(self) -> str | None:
        try:
            await asyncio.gather(self._services.jobs.load(_NO_JOB), self._services.bus.check())
        except (StorageUnavailable, QueueUnavailable) as error:
            return error.code
        return None
