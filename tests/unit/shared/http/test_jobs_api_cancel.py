"""`POST /jobs/{job_id}/cancel`: what it ends, and every refusal."""

import json
from typing import Any

import pytest

from shared.jobs import JobState
from shared.services import Services
from tests.support.application import new_job, store
from tests.support.fakes import World
from tests.unit.shared.http.job_calls import cancel
from tests.unit.shared.http.serving import call


@pytest.mark.parametrize("more", [{}, {"operator": "ada"}, {"operator": None}])
async def test_a_waiting_job_is_cancelled_and_says_so_again(
    world: World, services: Services, more: dict[str, str | None]
) -> None:
    job = await store(world, new_job(world))
    for _ in range(2):
        answer = await cancel(services, job.job_id, {"reason": "Out of date."} | more)
        assert answer.status == 200
        assert json.loads(answer.body) == {"job_id": job.job_id, "status": "cancelled"}
    shown = json.loads((await call(services, "get_job", job.job_id)).body)
    assert shown["status"] == "cancelled"
    assert "cancel_requested" not in shown


async def test_a_running_job_is_asked_to_end(world: World, services: Services) -> None:
    job = await store(world, new_job(world, state=JobState.RUNNING))
    answer = await cancel(services, job.job_id, {"reason": "Out of date."})
    assert (answer.status, json.loads(answer.body)["status"]) == (202, "cancelling")
    shown = json.loads((await call(services, "get_job", job.job_id)).body)
    assert (shown["status"], shown["cancel_requested"]) == ("running", True)


@pytest.mark.parametrize(
    ("state", "code"),
    [(JobState.DEAD, "use_close"), (JobState.SUCCEEDED, "already_done"), (JobState.CLOSED, "already_done")],
)
async def test_a_job_that_no_longer_runs_is_not_cancelled(
    world: World, services: Services, state: JobState, code: str
) -> None:
    job = await store(world, new_job(world, state=state))
    answer = await cancel(services, job.job_id, {"reason": "Out of date."})
    assert (answer.status, json.loads(answer.body)["code"]) == (409, code)
    assert world.jobs.job(job.job_id) == job


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "reason_required"),
        ({"reason": " "}, 400, "reason_required"),
        ({"reason": "r", "operator": ""}, 400, "bad_request"),
        ({"reason": "r", "operator": 5}, 400, "bad_request"),
        ({"reason": "r", "MARKED": 1}, 400, "bad_request"),
        ([], 400, "malformed_body"),
    ],
)
async def test_a_bad_cancel_changes_nothing(
    world: World, services: Services, body: Any, status: int, code: str
) -> None:
    job = await store(world, new_job(world))
    answer = await cancel(services, job.job_id, body)
    assert (answer.status, json.loads(answer.body)["code"]) == (status, code)
    assert b"MARKED" not in answer.body
    assert world.jobs.job(job.job_id) == job


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({}, "A decision needs a reason. `reason` is missing or blank."),
        ({"reason": "r", "operator": " "}, "`operator` must be text of 1 to 200 characters, or left out."),
    ],
)
async def test_a_cancel_without_an_operator_is_not_told_to_name_one(
    services: Services, world: World, body: Any, detail: str
) -> None:
    job = await store(world, new_job(world))
    answer = await cancel(services, job.job_id, body)
    assert (answer.status, json.loads(answer.body)["detail"]) == (400, detail)


async def test_a_cancel_s_key_is_for_one_request(world: World, services: Services) -> None:
    job = await store(world, new_job(world))
    await cancel(services, job.job_id, {"reason": "Out of date."}, key="k")
    answer = await cancel(services, job.job_id, {"reason": "Another."}, key="k")
    assert (answer.status, json.loads(answer.body)["code"]) == (422, "idempotency_key_reused")


async def test_there_is_nothing_to_cancel_where_there_is_no_job(services: Services) -> None:
    answer = await cancel(services, "job_" + "a" * 26, {"reason": "Out of date."})
    assert (answer.status, json.loads(answer.body)["code"]) == (404, "job_not_found")
