"""The ledger of a worker that lost its claim, or whose job was cancelled."""

from dataclasses import replace

import pytest

from shared.calls.failures import CallFailed
from shared.effects.contract import Done
from shared.errors import (
    ClaimLost,
    JobCancelled,
)
from tests.support.ledger_desk import REQUEST, desk
from tests.support.outside import BLIND, KEYED, CountingProvider


async def test_a_worker_that_lost_its_claim_begins_nothing() -> None:
    at = await desk()
    zombie = await at.claim()
    await at.claim()
    with pytest.raises(ClaimLost):
        await at.perform(zombie)
    assert at.provider.calls == 0


async def test_a_worker_that_finishes_late_overwrites_nothing_and_its_knowledge_is_kept() -> None:
    at = await desk(BLIND)
    zombie = await at.claim()

    class Slow(CountingProvider):
        async def send(self, key: str) -> Done:
            done = await super().send(key)
            await at.claim()  # another worker takes over while the call lasts
            return done

    at.provider = Slow(BLIND.provider)
    with pytest.raises(ClaimLost):
        await at.perform(zombie)
    assert at.open_effects() == ["blind"]
    done = await at.perform(await at.claim())
    assert done.external_id == "blind_1"
    assert at.provider.calls == 1
    assert at.open_effects() == []


async def test_a_cancelled_job_begins_no_effect_and_finishes_the_one_that_is_open() -> None:
    at = await desk(KEYED)
    at.provider.script = ["cut_after"]
    with pytest.raises(CallFailed):
        await at.perform(await at.claim())
    claim = await at.claim()
    snapshot = await at.world.jobs.load(at.job_id)
    assert snapshot is not None
    await at.world.jobs.commit(snapshot, replace(snapshot.job, cancel_requested=True))
    ledger = at.ledger(claim)
    await ledger.perform(at.contract, REQUEST, at.provider)
    with pytest.raises(JobCancelled):
        await ledger.perform(BLIND, REQUEST, at.provider)
    assert at.provider.total == 1
