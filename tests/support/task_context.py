"""A task's context over memory: calls that go straight through, and a ledger for one job that never dies."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from shared.calls.calling import NO_COST, Usage
from shared.calls.failures import CallFailed, FailureKind
from shared.effects.contract import Done, EffectCall, EffectContract
from shared.effects.records import effect_key, request_hash
from shared.tasks.base import TaskContext

T = TypeVar("T")


@dataclass(slots=True)
class DirectCalls:
    """Implements `ProviderCalls` without limits; keeps what was reserved and what was used."""

    reserved: list[Usage] = field(default_factory=list)
    used: list[Usage] = field(default_factory=list)
    providers: list[str] = field(default_factory=list)

    async def run(
        self,
        provider: str,
        call: Callable[[], Awaitable[T]],
        *,
        timeout: timedelta,
        estimate: Usage = NO_COST,
        used: Callable[[T], Usage] | None = None,
    ) -> T:
        self.providers.append(provider)
        self.reserved.append(estimate)
        try:
            async with asyncio.timeout(timeout.total_seconds()):
                answer = await call()
        except TimeoutError:
            raise CallFailed(provider, FailureKind.UNCLEAR) from None
        if used is not None:
            self.used.append(used(answer))
        return answer


@dataclass(slots=True)
class MemoryEffects:
    """Implements `Effects`: what is done is answered from memory; disproving begins a new generation."""

    job_id: str = "job_x"
    done: dict[str, tuple[str, Done]] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)
    disproved: list[tuple[str, str]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    estimates: list[Usage] = field(default_factory=list)

    async def perform(
        self,
        contract: EffectContract,
        request: Mapping[str, Any],
        call: EffectCall,
        *,
        estimate: Usage = NO_COST,
    ) -> Done:
        asked = request_hash(request)
        known = self.done.get(contract.action)
        if known is not None:
            assert known[0] == asked, "another request than before"
            return known[1]
        key = effect_key(self.job_id, contract.action, self.generations.get(contract.action, 0))
        self.keys.append(key)
        self.estimates.append(estimate)
        done = await call.send(key)
        self.done[contract.action] = (asked, done)
        return done

    async def disprove(self, contract: EffectContract, code: str) -> None:
        self.disproved.append((contract.action, code))
        if self.done.pop(contract.action, None) is not None:
            self.generations[contract.action] = self.generations.get(contract.action, 0) + 1


def a_context(
    effects: MemoryEffects | None = None,
    calls: DirectCalls | None = None,
    *,
    job_id: str = "job_x",
    attempt: int = 0,
    release: int = 0,
    callback_url: str | None = None,
) -> TaskContext:
    return TaskContext(
        job_id=job_id,
        attempt=attempt,
        release=release,
        effects=effects or MemoryEffects(job_id),
        calls=calls or DirectCalls(),
        callback_url=callback_url,
    )
