"""How much time a call must find, and gets."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from shared.effects.call_times import INTENT_TIME, WRITE_TIME, call_until, time_for
from shared.effects.contract import EffectContract
from shared.errors import NoTimeLeft
from tests.support.outside import BLIND, CALL, FINDABLE, KEYED

NOW = datetime(2026, 7, 27, 10, 15, tzinfo=UTC)
SETTLED = [KEYED, FINDABLE, replace(BLIND, repeatable=True)]
LITTLE = timedelta(milliseconds=1)


@pytest.mark.parametrize("contract", SETTLED, ids=["keyed", "findable", "harmless"])
def test_a_call_that_clears_itself_up_takes_what_time_there_is(contract: EffectContract) -> None:
    assert call_until(contract, NOW, NOW + timedelta(hours=1)) == NOW + CALL
    assert call_until(contract, NOW, NOW + CALL / 2) == NOW + CALL / 2 - WRITE_TIME
    assert time_for(contract, NOW, NOW + LITTLE) == LITTLE
    with pytest.raises(NoTimeLeft):
        call_until(contract, NOW, NOW + timedelta(seconds=1))


def test_one_that_only_a_person_could_clear_up_needs_all_of_its_time() -> None:
    assert call_until(BLIND, NOW, NOW + timedelta(hours=1)) == NOW + INTENT_TIME + CALL
    assert call_until(BLIND, NOW, NOW + CALL + WRITE_TIME) == NOW + CALL
    with pytest.raises(NoTimeLeft):
        call_until(BLIND, NOW, NOW + CALL + WRITE_TIME - LITTLE)
    assert time_for(BLIND, NOW, NOW + CALL + INTENT_TIME) == CALL
    with pytest.raises(NoTimeLeft):
        time_for(BLIND, NOW, NOW + CALL - LITTLE)


@pytest.mark.parametrize("contract", [BLIND, *SETTLED], ids=["blind", "keyed", "findable", "harmless"])
def test_a_process_that_was_frozen_past_the_end_does_not_call(contract: EffectContract) -> None:
    with pytest.raises(NoTimeLeft):
        time_for(contract, NOW, NOW)
