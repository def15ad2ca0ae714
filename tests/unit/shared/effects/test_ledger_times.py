"""The ledger and time: what is not begun when little is left, and what is written when none is."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from shared.effects.call_times import INTENT_TIME, WRITE_TIME
from shared.effects.contract import Done, EffectContract
from shared.errors import (
    NoTimeLeft,
)
from shared.jobs import Job
from shared.ports import Row, Snapshot
from tests.support.ledger_desk import HARMLESS, REQUEST, DirectCalls, desk
from tests.support.outside import BLIND, FINDABLE, KEYED, CountingProvider


async def test_a_process_frozen_after_its_intent_does_not_call() -> None:
    at = await desk()
    real = at.world.jobs.commit

    async def slow_commit(snapshot: Snapshot, job: Job, rows: Sequence[Row] = ()) -> Snapshot:
        written = await real(snapshot, job, rows)
        at.world.clock.advance(timedelta(minutes=5))
        return written

    claim = await at.claim()
    at.world.jobs.commit = slow_commit  # type: ignore[method-assign]  # a fault planted in this one object
    with pytest.raises(NoTimeLeft):
        await at.perform(claim)
    assert at.provider.calls == 0
    assert at.open_effects() == []


async def test_a_call_is_not_begun_when_the_attempt_is_nearly_over() -> None:
    at = await desk()
    claim = await at.claim()
    ledger = at.ledger(claim, at.world.clock.now() + timedelta(seconds=0.5))
    with pytest.raises(NoTimeLeft):
        await ledger.perform(at.contract, REQUEST, at.provider)
    assert await at.records() == []


@pytest.mark.parametrize(
    ("contract", "begun"), [(BLIND, False), (KEYED, True), (FINDABLE, True), (HARMLESS, True)], ids=str
)
async def test_a_call_that_only_a_person_could_clear_up_is_not_begun_without_all_of_its_time(
    contract: EffectContract, begun: bool
) -> None:
    at = await desk(contract)
    claim = await at.claim()
    short = at.world.clock.now() + contract.call_timeout + WRITE_TIME - timedelta(milliseconds=1)
    try:
        await at.ledger(claim, short).perform(contract, REQUEST, at.provider)
    except NoTimeLeft:
        assert await at.records() == []
    assert bool(at.provider.calls) is begun
    enough = at.world.clock.now() + contract.call_timeout + WRITE_TIME
    await at.ledger(await at.claim(), enough).perform(contract, REQUEST, at.provider)
    assert at.provider.total == 1


async def test_time_spent_on_the_way_to_the_call_is_not_taken_from_it() -> None:
    at = await desk(BLIND)
    claim = await at.claim()
    commit = at.world.jobs.commit

    async def slow_commit(snapshot: Snapshot, job: Job, rows: Sequence[Row] = ()) -> Snapshot:
        at.world.clock.advance(INTENT_TIME)
        return await commit(snapshot, job, rows)

    at.world.jobs.commit = slow_commit  # type: ignore[method-assign]  # a fault planted in this one object
    sent_at: list[datetime] = []

    class Timed(CountingProvider):
        async def send(self, key: str) -> Done:
            sent_at.append(at.world.clock.now())
            return await super().send(key)

    at.provider = Timed(BLIND.provider)
    await at.perform(claim)
    (record,) = await at.records()
    assert [record.call_until - sent for sent in sent_at] == [BLIND.call_timeout]


async def test_an_answer_that_came_is_written_down_when_the_attempts_time_is_up() -> None:
    at = await desk(BLIND)
    claim = await at.claim()

    class UntilCancelled(DirectCalls):
        async def run(self, *arguments: Any, **named: Any) -> Any:
            await super().run(*arguments, **named)
            limit.reschedule(asyncio.get_running_loop().time())
            await asyncio.Event().wait()  # what follows a call lasts too long

    at.calls = UntilCancelled()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(None) as limit:
            await at.perform(claim)
    assert at.open_effects() == []
    at.calls = DirectCalls()
    assert (await at.perform(await at.claim())).external_id == "blind_1"
    assert at.provider.calls == 1
