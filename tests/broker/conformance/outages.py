"""Outages of one broker, shared by all behaviours that want one: a start costs a second each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.broker.conformance.sdk import Service
from tests.broker.process import BrokerProcess

_PATIENT = {"retry_total": 12, "retry_backoff_max": 3}
"""A busy machine takes its time to start a broker."""

_gatherings: dict[Path, _Gathering] = {}

During = Callable[[], Awaitable[object]]


@dataclass
class Outage:
    """A broker that is killed when every behaviour present asks for it."""

    service: Service
    _gathering: _Gathering

    async def happen(self, during: During | None = None) -> None:
        """The broker dies as in a crash and comes back on its port; `during` is done while it is away."""
        await self._gathering.wait(during)


@asynccontextmanager
async def outage(service: Service) -> AsyncIterator[Outage]:
    """Takes part in the next outage of the broker."""
    gathering = _gatherings.setdefault(service.broker.folder, _Gathering(service.broker))
    gathering.present += 1
    try:
        yield Outage(replace(service, options=_PATIENT), gathering)
    finally:
        gathering.present -= 1
        gathering.go_if_all_wait()


@dataclass
class _Gathering:
    broker: BrokerProcess
    present: int = 0
    _waiting: list[tuple[asyncio.Future[None], During]] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def wait(self, during: During | None) -> None:
        """Until the next outage is over; fails as `during` does."""
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((over, during or _nothing))
        self.go_if_all_wait()
        await over

    def go_if_all_wait(self) -> None:
        """Nobody is in the middle of something else."""
        if self._waiting and len(self._waiting) == self.present:
            waiting, self._waiting = self._waiting, []
            task = asyncio.get_running_loop().create_task(self._happen(waiting))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _happen(self, waiting: list[tuple[asyncio.Future[None], During]]) -> None:
        await asyncio.to_thread(self.broker.kill)
        results = await asyncio.gather(*(during() for _, during in waiting), return_exceptions=True)
        await asyncio.to_thread(self.broker.start)
        for (over, _), result in zip(waiting, results, strict=True):
            if over.done():
                continue
            if isinstance(result, BaseException):
                over.set_exception(result)
            else:
                over.set_result(None)


async def _nothing() -> None:
    """An outage that nobody uses."""
