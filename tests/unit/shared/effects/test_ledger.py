"""The ledger on one claimed job: what is written before and after a call, and what is never sent."""

from collections import Counter
from datetime import timedelta

import pytest

from shared.calls.calling import MustWait, Usage
from shared.calls.failures import CallFailed, FailureKind
from shared.effects.contract import Done, EffectContract
from shared.effects.records import EffectState
from shared.errors import (
    EffectChanged,
    OutcomeUnknownError,
    StorageUnavailable,
)
from shared.failpoints import Point
from shared.ports import RowKind
from tests.support.kills import killed_at
from tests.support.ledger_desk import REQUEST, desk
from tests.support.outside import BLIND, FINDABLE, KEYED, CountingProvider


async def test_an_effect_is_done_once_and_answered_from_the_ledger_afterwards() -> None:
    at = await desk()
    first = await at.perform(await at.claim())
    again = await at.perform(await at.claim())
    assert first == again
    assert at.provider.calls == 1
    assert at.open_effects() == []
    assert [record.state for record in await at.records()] == [EffectState.DONE]


async def test_the_intent_stands_before_the_call_and_names_what_is_open() -> None:
    at = await desk()
    seen: list[list[str]] = []

    class Looking(CountingProvider):
        async def send(self, key: str) -> Done:
            seen.append(at.open_effects())
            (record,) = await at.records()
            assert (record.state, record.key) == (EffectState.INTENDED, key)
            return await super().send(key)

    at.provider = Looking(BLIND.provider)
    await at.perform(await at.claim())
    assert seen == [["blind"]]


@pytest.mark.parametrize("kind", [FailureKind.NOT_SENT, FailureKind.THROTTLED, FailureKind.UNAVAILABLE])
async def test_a_call_that_was_not_executed_leaves_nothing_open_and_may_be_made_again(
    kind: FailureKind,
) -> None:
    at = await desk()
    at.provider.script = [kind]
    with pytest.raises(CallFailed) as caught:
        await at.perform(await at.claim())
    assert caught.value.kind is kind
    assert at.open_effects() == []
    await at.perform(await at.claim())
    assert at.provider.executed == {f"{at.job_id}:blind": 1}


async def test_a_lost_answer_without_keys_or_look_up_is_unknown_and_never_sent_again() -> None:
    at = await desk(BLIND)
    at.provider.script = ["cut_after"]
    for _ in range(3):
        with pytest.raises(OutcomeUnknownError) as caught:
            await at.perform(await at.claim())
        assert caught.value.ask_at is None
    assert at.provider.calls == at.provider.total == 1
    assert at.open_effects() == ["blind"]


async def test_a_lost_answer_is_repeated_with_its_key_where_the_provider_takes_keys() -> None:
    at = await desk(KEYED)
    at.provider.script = ["cut_after"]
    with pytest.raises(CallFailed):
        await at.perform(await at.claim())
    assert at.open_effects() == ["keyed"]
    await at.perform(await at.claim())
    assert (at.provider.calls, at.provider.total) == (2, 1)
    assert at.open_effects() == []


async def test_a_repeat_that_is_turned_away_says_nothing_of_the_first_call() -> None:
    at = await desk(KEYED)
    at.provider.script = ["cut_after", FailureKind.THROTTLED]
    for _ in range(2):
        with pytest.raises(CallFailed):
            await at.perform(await at.claim())
    assert at.open_effects() == ["keyed"]
    at.provider.script = [FailureKind.REJECTED]
    with pytest.raises(OutcomeUnknownError):
        await at.perform(await at.claim())
    assert at.open_effects() == ["keyed"]


async def test_past_the_key_window_nothing_is_repeated() -> None:
    at = await desk(KEYED)
    at.provider.script = ["cut_after"]
    with pytest.raises(CallFailed):
        await at.perform(await at.claim())
    at.world.clock.advance(timedelta(hours=24))
    with pytest.raises(OutcomeUnknownError):
        await at.perform(await at.claim())
    assert at.provider.calls == 1


async def test_a_lost_answer_is_found_where_the_provider_can_be_asked() -> None:
    at = await desk(FINDABLE)
    at.provider.script = ["cut_after"]
    with pytest.raises(OutcomeUnknownError) as caught:
        await at.perform(await at.claim())
    assert caught.value.ask_at is not None
    done = await at.perform(await at.claim())
    assert done.data["key"] == f"{at.job_id}:findable"
    assert at.provider.total == 1


async def test_nothing_found_counts_only_after_call_and_lag() -> None:
    at = await desk(FINDABLE)
    at.provider.script = [FailureKind.UNCLEAR]
    with pytest.raises(OutcomeUnknownError):
        await at.perform(await at.claim())
    with pytest.raises(OutcomeUnknownError) as caught:
        await at.perform(await at.claim())
    assert at.provider.calls == 1
    (record,) = await at.records()
    assert caught.value.ask_at == record.call_until + timedelta(seconds=30)
    at.world.clock.advance(caught.value.ask_at - at.world.clock.now())
    await at.perform(await at.claim())
    assert (at.provider.calls, at.provider.total) == (2, 1)


async def test_a_provider_that_cannot_be_reached_for_an_answer_leaves_the_outcome_unknown() -> None:
    at = await desk(FINDABLE)
    at.provider.script = ["cut_after"]
    at.provider.answers = [FailureKind.UNAVAILABLE, FailureKind.UNCLEAR, FailureKind.REJECTED]
    for _ in range(4):
        with pytest.raises(OutcomeUnknownError):
            await at.perform(await at.claim())
    assert at.open_effects() == ["findable"]
    await at.perform(await at.claim())
    assert at.provider.total == 1


@pytest.mark.parametrize("contract", [BLIND, KEYED, FINDABLE])
@pytest.mark.parametrize(
    "point",
    [
        Point.EFFECT_BEFORE_INTENT,
        Point.EFFECT_AFTER_INTENT,
        Point.EFFECT_AFTER_CALL,
        Point.EFFECT_AFTER_RESULT,
    ],
)
async def test_a_kill_around_the_call_never_leads_to_a_second_effect(
    point: Point, contract: EffectContract
) -> None:
    at = await desk(contract)
    claim = await at.claim()
    async with killed_at(point):
        await at.perform(claim)
    for _ in range(4):
        at.world.clock.advance(timedelta(minutes=2))
        try:
            await at.perform(await at.claim())
        except (OutcomeUnknownError, CallFailed):
            continue
        break
    assert at.provider.total <= 1
    settled = at.open_effects() == []
    assert settled == (
        at.provider.total == 1 and (contract is not BLIND or point is not Point.EFFECT_AFTER_CALL)
    )


async def test_a_provider_that_rests_costs_no_intent() -> None:
    at = await desk()
    at.calls.refusal = MustWait("provider_resting", at.world.clock.now())
    with pytest.raises(MustWait):
        await at.perform(await at.claim())
    assert await at.records() == []


async def test_another_request_within_a_release_is_the_tasks_fault() -> None:
    at = await desk()
    await at.perform(await at.claim())
    with pytest.raises(EffectChanged):
        await at.perform(await at.claim(), {"prompt": "another"})
    assert at.provider.calls == 1


async def test_a_disproved_effect_begins_a_new_generation_under_a_new_key() -> None:
    at = await desk(KEYED)
    claim = await at.claim()
    ledger = at.ledger(claim)
    await ledger.perform(at.contract, REQUEST, at.provider)
    await ledger.disprove(at.contract, "creation_failed")
    await ledger.perform(at.contract, REQUEST, at.provider)
    assert sorted(at.provider.executed) == [f"{at.job_id}:keyed", f"{at.job_id}:keyed:g1"]
    assert [record.code for record in await at.records()] == ["creation_failed", None]


async def test_what_was_never_done_cannot_be_disproved() -> None:
    at = await desk()
    await at.ledger(await at.claim()).disprove(at.contract, "creation_failed")
    assert await at.records() == []


async def test_storage_that_is_away_after_the_call_leaves_the_intent_open() -> None:
    at = await desk(BLIND)
    claim = await at.claim()

    class Cutting(CountingProvider):
        async def send(self, key: str) -> Done:
            done = await super().send(key)
            at.world.storage_down()
            return done

    at.provider = Cutting(BLIND.provider)
    with pytest.raises(StorageUnavailable):
        await at.perform(claim)
    at.world.storage_down(False)
    with pytest.raises(OutcomeUnknownError):
        await at.perform(await at.claim())
    assert at.provider.total == 1


async def test_a_repeat_under_the_same_key_is_not_paid_for_twice() -> None:
    at = await desk(KEYED)
    at.provider.script = ["cut_after"]
    with pytest.raises(CallFailed):
        await at.ledger(await at.claim()).perform(KEYED, REQUEST, at.provider, estimate=Usage(tokens=7))
    await at.ledger(await at.claim()).perform(KEYED, REQUEST, at.provider, estimate=Usage(tokens=7))
    assert [usage.tokens for usage in at.calls.estimates] == [7, 0]


async def test_the_timeline_names_the_action_once_and_a_later_generation() -> None:
    made = await desk(KEYED)
    ledger = made.ledger(await made.claim())
    await ledger.perform(KEYED, REQUEST, made.provider)
    await ledger.disprove(KEYED, "came_to_nothing")
    await ledger.perform(KEYED, REQUEST, made.provider)
    notes = [row.data["note"] for row in await made.world.jobs.rows(made.job_id, RowKind.TIMELINE)]
    assert Counter(notes) == {KEYED.action: 3, f"{KEYED.action}:g1": 2}
