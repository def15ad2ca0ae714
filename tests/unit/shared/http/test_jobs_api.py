"""`GET /jobs/{job_id}` and its result."""

import json

import pytest

from shared.application import Application
from shared.http.exchange import HttpAnswer, HttpRequest, answered
from shared.jobs import JobState
from shared.messages import JobMessage
from shared.services import Services
from tests.support.application import build_intake, build_services, new_job, store
from tests.support.cases import filed_job
from tests.support.fakes import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def services(world: World) -> Services:
    return build_services(world)


async def get(services: Services, route: str, job_id: str) -> HttpAnswer:
    request = HttpRequest(method="GET", url="http://localhost/api", headers={}, params={"job_id": job_id})
    application = Application(services, build_intake(services))
    return await answered(lambda: application.serve(route, request))


async def test_a_job_is_shown_with_its_timeline(world: World, services: Services) -> None:
    job = await store(world, new_job(world))
    message = JobMessage.for_job(job)
    await Application(services, build_intake(services)).run_job(message.body(), message.properties(), None)
    shown = json.loads((await get(services, "get_job", job.job_id)).body)
    assert (shown["status"], shown["attempt"], shown["created_at"]) == (
        "succeeded",
        0,
        "2026-07-27T10:15:00.000Z",
    )
    assert [row["event"] for row in shown["timeline"]] == ["started", "succeeded"]
    assert shown["result_ref"].startswith(f"results/{job.job_id}/0-")
    assert "failure" not in shown
    result = await get(services, "get_result", job.job_id)
    assert (result.status, result.content_type, result.body) == (200, "text/plain", b"result of run 1")


async def test_a_failure_is_shown(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    shown = json.loads((await get(services, "get_job", job.job_id)).body)
    assert (shown["status"], shown["failure"]["category"]) == ("dead", "fix_input")


@pytest.mark.parametrize(
    ("state", "status"),
    [(JobState.QUEUED, 409), (JobState.DEAD, 409), (JobState.CLOSED, 404), (JobState.CANCELLED, 404)],
)
async def test_without_a_result_it_says_what_the_job_is(
    world: World, services: Services, state: JobState, status: int
) -> None:
    job = await store(world, new_job(world, state=state))
    answer = await get(services, "get_result", job.job_id)
    assert answer.status == status
    assert state.value in json.loads(answer.body)["detail"]


@pytest.mark.parametrize("route", ["get_job", "get_result"])
@pytest.mark.parametrize("job_id", ["", "MARKED", "job_" + "a" * 26, "job_" + "a" * 26 + "\n", "job_#?"])
async def test_an_unknown_job_is_not_found(services: Services, route: str, job_id: str) -> None:
    answer = await get(services, route, job_id)
    assert answer.status == 404
    assert json.loads(answer.body)["code"] == "job_not_found"
    assert b"MARKED" not in answer.body
