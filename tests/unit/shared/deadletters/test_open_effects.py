"""Which outcomes of a dead job are unknown."""

import pytest

from shared.deadletters.open_effects import judge_effects, open_effects
from shared.effects.records import EffectRecord, EffectState
from tests.support.application import build_services, new_job, store
from tests.support.effects import an_effect, put_effect
from tests.support.fakes import World

JOB = new_job(World(), open_effects=("submit",))
INTENT = an_effect(JOB, "submit")


def test_an_intent_without_anything_later_is_unknown() -> None:
    assert judge_effects(JOB, [INTENT]).unknown == {"submit": INTENT}


def test_an_action_of_the_row_whose_record_is_missing_is_unknown_too() -> None:
    assert judge_effects(JOB, [an_effect(JOB, "other")]).unknown == {"submit": None}


@pytest.mark.parametrize("state", [EffectState.DONE, EffectState.NOT_EXECUTED, EffectState.FAILED])
def test_what_a_late_worker_saw_is_known_and_becomes_the_record(state: EffectState) -> None:
    late = an_effect(JOB, "submit", state=state, late=True)
    judged = judge_effects(JOB, [INTENT, late])
    assert judged.unknown == {}
    (row,) = judged.rows()
    assert (row.key, row.data["state"], row.data["late"]) == ("submit-0000", state.value, False)


def test_an_effect_that_the_row_does_not_name_is_not_open() -> None:
    records: list[EffectRecord] = [INTENT, an_effect(JOB, "other")]
    assert list(judge_effects(JOB, records).unknown) == ["submit"]


def test_only_the_last_generation_counts() -> None:
    failed = an_effect(JOB, "submit", state=EffectState.FAILED)
    second = an_effect(JOB, "submit", generation=1)
    assert judge_effects(JOB, [failed, second]).unknown == {"submit": second}


async def test_the_ledger_is_read_from_the_job_s_rows() -> None:
    world = World()
    services = build_services(world)
    job = await store(world, JOB)
    await put_effect(world, job, INTENT)
    assert (await open_effects(services, job)).unknown == {"submit": INTENT}
