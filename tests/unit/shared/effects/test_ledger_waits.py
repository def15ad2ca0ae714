"""The ledger and what goes on outside after a call's answer: since when it is waited for."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.effects.contract import EffectContract
from shared.effects.records import effect_row
from tests.support.ledger_desk import LONG, Desk, desk
from tests.support.outside import BLIND, FINDABLE, KEYED


async def test_what_goes_on_outside_is_waited_for_from_its_answer_on() -> None:
    at = await desk(LONG)
    await at.perform(await at.claim())
    answered_at = at.world.clock.now()
    assert at.world.jobs.job(at.job_id).waiting_since == answered_at
    at.world.clock.advance(timedelta(minutes=1))
    await at.perform(await at.claim())
    assert at.world.jobs.job(at.job_id).waiting_since == answered_at


async def test_a_later_release_waits_anew_for_what_goes_on_outside() -> None:
    at = await desk(LONG)
    await at.perform(await at.claim())
    snapshot = await at.world.jobs.load(at.job_id)
    assert snapshot is not None
    await at.world.jobs.commit(snapshot, replace(snapshot.job, release=1, waiting_since=None))
    at.world.clock.advance(timedelta(days=1))
    await at.perform(await at.claim())
    assert at.world.jobs.job(at.job_id).waiting_since == at.world.clock.now()
    assert at.provider.calls == 1


@pytest.mark.parametrize("contract", [BLIND, KEYED, FINDABLE], ids=str)
async def test_a_call_that_is_over_with_its_answer_leaves_nothing_to_wait_for(
    contract: EffectContract,
) -> None:
    at = await desk(contract)
    await at.perform(await at.claim())
    assert not at.world.jobs.job(at.job_id).waiting


async def test_what_came_to_nothing_is_waited_for_no_more() -> None:
    at = await desk(LONG)
    await at.perform(await at.claim())
    await at.ledger(await at.claim()).disprove(LONG, "creation_failed")
    assert not at.world.jobs.job(at.job_id).waiting


async def said_to_be_done(**row: Any) -> Desk:
    """Where a person's word is all that is known of the effect."""
    at = await desk(LONG)
    await at.perform(await at.claim())
    [record] = await at.records()
    await at.world.jobs.add_row(at.job_id, effect_row(replace(record, operator="ada")))
    snapshot = await at.world.jobs.load(at.job_id)
    assert snapshot is not None
    await at.world.jobs.commit(snapshot, replace(snapshot.job, **({"waiting_since": None} | row)))
    return at


async def test_a_person_s_word_is_unconfirmed_until_the_job_has_waited_for_it() -> None:
    at = await said_to_be_done()
    assert (await at.perform(await at.claim())).unconfirmed
    at = await said_to_be_done(waits=1)
    assert not (await at.perform(await at.claim())).unconfirmed


async def test_what_the_provider_answered_needs_no_confirmation() -> None:
    at = await desk(LONG)
    assert [(await at.perform(await at.claim())).unconfirmed for _ in range(2)] == [False, False]
