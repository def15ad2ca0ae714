"""The real clock and real chance."""

import asyncio
import secrets
from datetime import UTC, datetime


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class SystemRandomness:
    def __init__(self) -> None:
        self._random = secrets.SystemRandom()

    def fraction(self) -> float:
        return self._random.random()

    def token(self) -> str:
        return secrets.token_urlsafe(18)
