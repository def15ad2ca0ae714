"""The ledger's records: keys, hashes, and which one counts."""

from dataclasses import replace

import pytest

from shared.effects.records import (
    EffectState,
    effect_key,
    effect_row,
    latest,
    read_effect,
    request_hash,
)
from tests.unit.shared.effects.known import record


def test_the_key_is_the_jobs_and_the_actions_and_counts_generations() -> None:
    assert effect_key("job_1", "submit", 0) == "job_1:submit"
    assert effect_key("job_1", "submit", 2) == "job_1:submit:g2"


def test_a_record_survives_its_row() -> None:
    known = record(EffectState.DONE, external_id="vid_1", data={"seconds": 4})
    assert read_effect(effect_row(known)) == known


def test_the_hash_does_not_depend_on_the_order_of_names_and_refuses_what_json_cannot_carry() -> None:
    assert request_hash({"a": 1, "b": [2]}) == request_hash({"b": [2], "a": 1})
    assert request_hash({"a": 1}) != request_hash({"a": 2})
    with pytest.raises(ValueError, match="JSON"):
        request_hash({"a": float("nan")})


def test_the_last_generation_counts() -> None:
    old, new = record(EffectState.FAILED), record(EffectState.INTENDED, generation=1)
    assert latest([new, old], "submit") == new
    assert latest([new, old], "other") is None


def test_what_a_late_worker_saw_outweighs_what_nobody_saw_and_nothing_else() -> None:
    late = record(EffectState.DONE, external_id="vid_1", late=True)
    for unseen in (record(EffectState.INTENDED), record(EffectState.NOT_EXECUTED, code="not_found")):
        assert latest([unseen, late], "submit") == late
    said = record(EffectState.NOT_EXECUTED, operator="ada")
    for settled in (record(EffectState.DONE, external_id="vid_2"), record(EffectState.FAILED), said):
        assert latest([late, settled], "submit") == settled
    assert effect_row(late).key != effect_row(replace(late, late=False)).key
