"""Effects of unknown outcome over the desk's routes: shown, and reconciled or refused."""

import json
from datetime import timedelta
from typing import Any

import pytest

from shared.effects.records import EffectState
from shared.services import Services
from tests.support.cases import filed_job
from tests.support.effects import an_effect, job_of_unknown_outcome, put_effect
from tests.support.fakes import World
from tests.unit.shared.http.desk_calls import DECISION, RECONCILE, call


async def test_a_case_shows_its_effects_for_a_look_at_the_provider(world: World, services: Services) -> None:
    job = await job_of_unknown_outcome(services, world, "submit", "announce")
    done = an_effect(
        job, "announce", state=EffectState.DONE, external_id="m_1", data={"text": "MARKED"}, late=True
    )
    await put_effect(world, job, done)
    _, shown = await call(services, "show_case", job.job_id)
    assert shown["open_effects"] == ["submit"]
    assert [(each["action"], each["state"]) for each in shown["effects"]] == [
        ("announce", "intended"),
        ("announce", "done"),
        ("submit", "intended"),
    ]
    assert (shown["effects"][1]["external_id"], shown["effects"][1]["late"]) == ("m_1", True)
    assert shown["effects"][2] == {
        "action": "submit",
        "generation": 0,
        "state": "intended",
        "provider": "videos",
        "key": f"{job.job_id}:submit",
        "release": 0,
        "intended_at": "2026-07-27T10:14:00.000Z",
        "call_until": "2026-07-27T10:14:30.000Z",
    }
    assert "MARKED" not in json.dumps(shown)


async def test_the_last_reconciliation_answers_with_the_release(world: World, services: Services) -> None:
    job = await job_of_unknown_outcome(services, world, "submit", "announce")
    assert await call(services, "reconcile_case", job.job_id, RECONCILE, key="k") == (
        200,
        {"job_id": job.job_id, "status": "dead", "remaining": ["announce"]},
    )
    assert (await call(services, "resubmit_case", job.job_id, DECISION))[1]["code"] == "outcome_unknown"
    body = DECISION | {"effect": "announce", "outcome": "not_done"}
    assert await call(services, "reconcile_case", job.job_id, body) == (
        202,
        {"job_id": job.job_id, "release": 1},
    )
    assert (await call(services, "reconcile_case", job.job_id, RECONCILE, key="k"))[0] == 200
    _, shown = await call(services, "show_case", job.job_id)
    assert [row["outcome"] for row in shown["decisions"]] == ["done", "not_done"]
    assert {each["operator"] for each in shown["effects"]} == {"ada"}


async def test_that_a_call_was_not_made_cannot_be_said_while_it_may_be_under_way(
    world: World, services: Services
) -> None:
    job = await filed_job(services, world, open_effects=("submit",))
    until = world.clock.now() + timedelta(seconds=29.5)
    await put_effect(world, job, an_effect(job, "submit", call_until=until))
    body = DECISION | {"effect": "submit", "outcome": "not_done"}
    status, document = await call(services, "reconcile_case", job.job_id, body)
    assert (status, document["code"]) == (409, "call_under_way")
    assert "2026-07-27T10:15:30Z" in document["detail"]


async def test_an_effect_that_is_not_open_is_a_conflict(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    status, document = await call(services, "reconcile_case", job.job_id, RECONCILE)
    assert (status, document["code"]) == (409, "no_open_effect")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"external_id": None}, "external_id_required"),
        ({"external_id": ""}, "external_id_required"),
        ({"external_id": " \u200b"}, "external_id_required"),
        ({"external_id": "MARKED\x1b"}, "bad_request"),
        ({"external_id": "MARKED" * 50}, "bad_request"),
        ({"external_id": 5}, "bad_request"),
        ({"outcome": "not_done"}, "bad_request"),
        ({"outcome": "MARKED"}, "bad_request"),
        ({"outcome": None}, "bad_request"),
        ({"effect": ""}, "bad_request"),
        ({"effect": "MARKED" * 50}, "bad_request"),
        ({"effect": ["MARKED"]}, "bad_request"),
        ({"reason": ""}, "reason_required"),
        ({"operator": None}, "operator_required"),
        ({"MARKED": 1}, "bad_request"),
    ],
)
async def test_a_bad_reconciliation_changes_nothing_and_is_not_echoed(
    world: World, services: Services, change: dict[str, Any], code: str
) -> None:
    job = await job_of_unknown_outcome(services, world, "submit")
    status, document = await call(services, "reconcile_case", job.job_id, RECONCILE | change)
    assert (status, document["code"]) == (400, code)
    assert "MARKED" not in json.dumps(document)
    assert world.jobs.job(job.job_id) == job


async def test_a_reconciliation_without_effect_or_outcome_says_what_they_must_be(
    world: World, services: Services
) -> None:
    job = await job_of_unknown_outcome(services, world, "submit")
    _, document = await call(services, "reconcile_case", job.job_id, DECISION)
    assert "`effect` must be text of 1 to 100 characters." in document["detail"]
    assert "`outcome` must be `done` or `not_done`." in document["detail"]
