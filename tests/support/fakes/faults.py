"""Faults that a test plants in a fake: errors before or after the effect, outages, slowness."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import ClassVar

from shared.errors import AfterhookError, StorageUnavailable

Step = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class _Planted:
    method: str | None
    error: Exception
    after: bool
    times: int


class Faults:
    """Base of the fakes. `down` fails every call; `latency` is slept (by `sleep`) before each."""

    unavailable: ClassVar[type[AfterhookError]] = StorageUnavailable

    def __init__(self) -> None:
        self.down = False
        self.latency = 0.0
        self.sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
        self.calls: list[str] = []
        self._planted: list[_Planted] = []
        self._before: dict[str, Step] = {}

    def fail_next(
        self,
        method: str | None = None,
        error: Exception | None = None,
        *,
        after: bool = False,
        times: int = 1,
    ) -> None:
        """Let the next `times` calls (of `method`, or any) raise; with `after`, once it took effect."""
        self._planted.append(_Planted(method, error or self.unavailable("planted by the test"), after, times))

    def before(self, method: str, step: Step) -> None:
        """Run `step` once, just before the next call of `method` takes effect: for a race on purpose."""
        self._before[method] = step

    @asynccontextmanager
    async def _call(self, method: str) -> AsyncIterator[None]:
        """Wraps one port call: everything planted happens around it, and other tasks get a turn before it."""
        self.calls.append(method)
        await asyncio.sleep(0)
        if self.latency:
            await self.sleep(self.latency)
        step = self._before.pop(method, None)
        if step is not None:
            await step()
        if self.down:
            raise self.unavailable("the fake is down")
        self._raise_planted(method, after=False)
        yield
        self._raise_planted(method, after=True)

    def _raise_planted(self, method: str, *, after: bool) -> None:
        for planted in self._planted:
            if planted.after is after and planted.method in (None, method):
                planted.times -= 1
                if planted.times <= 0:
                    self._planted.remove(planted)
                raise planted.error
