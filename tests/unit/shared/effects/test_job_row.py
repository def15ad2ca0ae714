"""What an effect's record changes on its job's row."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.effects.job_row import goes_on, with_record
from shared.effects.records import EffectState
from shared.jobs import Job
from tests.support.application import new_job
from tests.support.effects import an_effect
from tests.support.fakes import World
from tests.support.fakes.time import START
from tests.support.outside import BLIND

LONG = replace(BLIND, long_running=True)
LATER = START + timedelta(minutes=5)


def job(**changes: Any) -> Job:
    return new_job(World(), **changes)


def test_an_intent_opens_its_effect_and_ends_the_wait_for_another() -> None:
    waiting = job(waits=3, put_offs=2, waiting_since=START, open_effects=("other",))
    row = with_record(waiting, LONG, an_effect(waiting, "blind"), LATER)
    assert row.open_effects == ("other", "blind")
    assert (row.waits, row.put_offs, row.waiting_since) == (0, 0, None)


def test_a_repeated_intent_leaves_the_wait_for_its_outcome() -> None:
    waiting = job(waits=3, waiting_since=START, open_effects=("blind",))
    row = with_record(waiting, LONG, an_effect(waiting, "blind"), LATER)
    assert row == replace(waiting, updated_at=LATER)


@pytest.mark.parametrize("state", [state for state in EffectState if state is not EffectState.INTENDED])
def test_an_outcome_closes_its_effect_and_only_a_long_one_that_is_done_is_waited_for(
    state: EffectState,
) -> None:
    waiting = job(waits=3, waiting_since=START, open_effects=("blind", "other"))
    record = an_effect(waiting, "blind", state=state)
    row = with_record(waiting, LONG, record, LATER)
    assert (row.open_effects, row.waits) == (("other",), 0)
    assert row.waiting_since == (LATER if state is EffectState.DONE else None)
    assert with_record(waiting, BLIND, record, LATER).waiting_since is None


def test_what_a_person_calls_done_is_not_known_to_go_on() -> None:
    record = an_effect(job(), "blind", state=EffectState.DONE)
    assert goes_on(LONG, record)
    assert not goes_on(LONG, replace(record, operator="ada"))
