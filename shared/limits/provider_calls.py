"""The way to a provider."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from shared.calls.calling import NO_COST, Usage
from shared.calls.failures import CallFailed, FailureKind
from shared.jobs import Job
from shared.pipeline.policies import TaskPolicy
from shared.services import Services

T = TypeVar("T")


class GuardedCalls:
    """Implements `ProviderCalls` for one job."""

    def __init__(self, services: Services, job: Job, policy: TaskPolicy) -> None:
        self._services = services
        self._job = job
        self._policy = policy

    async def run(
        self,
        provider: str,
        call: Callable[[], Awaitable[T]],
        *,
        timeout: timedelta,
        estimate: Usage = NO_COST,  # noqa: ARG002
        used: Callable[[T], Usage] | None = None,  # noqa: ARG002
    ) -> T:
        limit = asyncio.timeout(timeout.total_seconds())
        try:
            async with limit:
                return await call()
        except TimeoutError:
            if not limit.expired():
                raise
            raise CallFailed(provider, FailureKind.UNCLEAR) from None
