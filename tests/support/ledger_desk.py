"""One claimed job, its ledger and its provider."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar

from shared.calls.calling import NO_COST, Usage
from shared.effects.contract import Done, EffectContract
from shared.effects.ledger import Ledger
from shared.effects.records import EffectRecord, read_effect
from shared.jobs import Job, JobState, Lease
from shared.ports import RowKind
from shared.worker.claims import Claim
from tests.support.application import build_services, new_job
from tests.support.fakes import World
from tests.support.outside import BLIND, CountingProvider

T = TypeVar("T")
LEASE = timedelta(seconds=90)
HARMLESS = replace(BLIND, repeatable=True)
LONG = replace(BLIND, long_running=True)
REQUEST = {"prompt": "a lighthouse"}


class DirectCalls:
    """ProviderCalls without breaker, budget or time."""

    def __init__(self) -> None:
        self.refusal: Exception | None = None
        self.estimates: list[Usage] = []

    async def run(
        self,
        provider: str,
        call: Callable[[], Awaitable[T]],
        *,
        timeout: timedelta,
        estimate: Usage = NO_COST,
        used: Callable[[T], Usage] | None = None,
    ) -> T:
        self.estimates.append(estimate)
        if self.refusal is not None:
            raise self.refusal
        return await call()


class Desk:
    """One job, claimed as often as a test likes, and its provider."""

    def __init__(self, contract: EffectContract) -> None:
        self.world = World()
        self.services = build_services(self.world)
        self.contract = contract
        self.provider = CountingProvider(contract.provider, honours_keys=contract.key_window is not None)
        self.calls = DirectCalls()

    async def store(self) -> Job:
        job = new_job(self.world)
        assert await self.world.jobs.insert(job, [])
        self.job_id = job.job_id
        return job

    async def claim(self) -> Claim:
        snapshot = await self.world.jobs.load(self.job_id)
        assert snapshot is not None
        until = self.world.clock.now() + LEASE
        claimed = replace(
            snapshot.job,
            state=JobState.RUNNING,
            claim=snapshot.job.claim + 1,
            lease=Lease(token=f"claim-{snapshot.job.claim + 1}", until=until),
        )
        return Claim(self.services, await self.world.jobs.commit(snapshot, claimed), until)

    def ledger(self, claim: Claim, until: datetime | None = None) -> Ledger:
        return Ledger(claim, self.calls, until or self.world.clock.now() + LEASE)

    async def perform(self, claim: Claim, request: dict[str, str] | None = None) -> Done:
        return await self.ledger(claim).perform(self.contract, request or REQUEST, self.provider)

    async def records(self) -> list[EffectRecord]:
        return [read_effect(row) for row in await self.world.jobs.rows(self.job_id, RowKind.EFFECT)]

    def open_effects(self) -> list[str]:
        """As the stored job's row names them."""
        return list(self.world.jobs.job(self.job_id).open_effects)


async def desk(contract: EffectContract = BLIND) -> Desk:
    made = Desk(contract)
    await made.store()
    return made
