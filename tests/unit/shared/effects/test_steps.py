"""What may happen next to one effect: every state of its record, every contract."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from shared.effects.contract import Done, EffectContract
from shared.effects.records import EffectRecord, EffectState
from shared.effects.steps import Begin, Changed, LookUp, Repeat, Step, Stored, Unknown, next_step
from tests.support.fakes.time import START
from tests.unit.shared.effects.known import record

BLIND = EffectContract(action="submit", provider="video", version=1, call_timeout=timedelta(seconds=30))
KEYED = replace(BLIND, key_window=timedelta(hours=24))
FINDABLE = replace(BLIND, lookup_lag=timedelta(minutes=1))
REPEATABLE = replace(BLIND, repeatable=True)
BOTH = replace(KEYED, lookup_lag=timedelta(minutes=1))
SOON = START + timedelta(minutes=5)


def step(
    known: EffectRecord | None,
    contract: EffectContract = BLIND,
    *,
    sha: str = "same",
    release: int = 0,
    now: datetime = SOON,
) -> Step:
    return next_step(known, sha, contract, release, now)


def test_what_was_never_begun_begins() -> None:
    assert step(None) == Begin(0)


def test_what_is_done_is_answered_from_the_ledger() -> None:
    known = record(EffectState.DONE, external_id="vid_1", data={"seconds": 4})
    assert step(known) == Stored(Done(external_id="vid_1", data={"seconds": 4}))
    assert step(known, release=3) == Stored(Done(external_id="vid_1", data={"seconds": 4}))


def test_another_request_is_never_done() -> None:
    known = record(EffectState.DONE, external_id="vid_1")
    assert step(known, sha="other") == Changed()
    assert step(known, sha="other", release=1) == Begin(1)


def test_what_was_not_executed_may_be_sent_under_the_same_key() -> None:
    known = record(EffectState.NOT_EXECUTED, generation=2)
    assert step(known) == Begin(2)


@pytest.mark.parametrize(("sha", "release"), [("other", 0), ("same", 1), ("other", 1)])
def test_a_used_key_is_not_reused_for_another_request_or_after_a_decision(sha: str, release: int) -> None:
    known = record(EffectState.NOT_EXECUTED, generation=2)
    assert step(known, sha=sha, release=release) == Begin(3)


def test_a_proven_failure_begins_a_new_generation() -> None:
    assert step(record(EffectState.FAILED, generation=1)) == Begin(2)


def test_an_open_intent_is_unknown_where_nobody_can_tell() -> None:
    known = record(EffectState.INTENDED)
    assert step(known) == Unknown(known)


@pytest.mark.parametrize("contract", [KEYED, REPEATABLE, BOTH])
def test_an_open_intent_is_repeated_where_that_is_harmless(contract: EffectContract) -> None:
    known = record(EffectState.INTENDED)
    assert step(known, contract) == Repeat(known)


def test_a_repeat_must_end_within_the_providers_key_window() -> None:
    known = record(EffectState.INTENDED)
    last = START + timedelta(hours=24) - timedelta(seconds=30)
    assert step(known, KEYED, now=last) == Repeat(known)
    after = last + timedelta(seconds=1)
    assert step(known, KEYED, now=after) == Unknown(known)
    assert step(known, BOTH, now=after) == LookUp(known, START + timedelta(seconds=90))


def test_an_open_intent_is_looked_up_and_nothing_found_counts_only_after_the_lag() -> None:
    known = record(EffectState.INTENDED)
    assert step(known, FINDABLE) == LookUp(known, known.call_until + timedelta(minutes=1))


@pytest.mark.parametrize("contract", [KEYED, REPEATABLE])
def test_an_open_intent_is_never_repeated_with_another_request(contract: EffectContract) -> None:
    known = record(EffectState.INTENDED)
    assert step(known, contract, sha="other") == Unknown(known)
    assert step(known, contract, sha="other", release=1) == Unknown(known)
