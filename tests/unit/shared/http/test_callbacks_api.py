"""`POST /callbacks/{token}`: shapes, and that nothing of the body is read or shown."""

import json
from datetime import timedelta
from typing import Any

import pytest

from shared.application import Application
from shared.callbacks import callback_url_for
from shared.http.callbacks_api import BODY_LIMIT
from shared.http.exchange import HttpAnswer, HttpRequest, answered
from shared.jobs import Job, JobState
from shared.services import Services
from shared.settings import Settings
from tests.support.application import build_intake, build_services, new_job, store
from tests.support.fakes import World

SETTINGS = Settings.model_validate(
    {
        "PUBLIC_BASE_URL": "https://jobs.example.com",
        "AFTERHOOK_CALLBACK_KEY": "an invented secret of enough length",
    }
)


@pytest.fixture
def services(world: World) -> Services:
    return build_services(world, settings=SETTINGS)


async def post(services: Services, token: str, body: bytes = b"{}") -> HttpAnswer:
    request = HttpRequest(
        method="POST",
        url="http://localhost/api/callbacks/x",
        headers={},
        params={"token": token},
        body=body,
    )
    application = Application(services, build_intake(services))
    return await answered(lambda: application.receive_callback(request))


def read(answer: HttpAnswer) -> Any:
    return json.loads(answer.body)


async def job_and_token(world: World, services: Services, state: JobState) -> tuple[Job, str]:
    job = await store(world, new_job(world, state=state, not_before=world.clock.now() + timedelta(hours=1)))
    url = callback_url_for(services, job)
    assert url is not None
    return job, url.rsplit("/", 1)[-1]


@pytest.mark.parametrize("body", [b"", b"{}", b"\xff\x00 no JSON", b"x" * BODY_LIMIT])
async def test_a_callback_is_taken_whatever_it_says(world: World, services: Services, body: bytes) -> None:
    _, token = await job_and_token(world, services, JobState.AWAITING_RESULT)
    answer = await post(services, token, body)
    assert (answer.status, read(answer)) == (200, {"status": "accepted"})
    assert world.telemetry.counted("callbacks", outcome="accepted") == 1


async def test_one_for_a_job_that_ended_is_ignored(world: World, services: Services) -> None:
    _, token = await job_and_token(world, services, JobState.SUCCEEDED)
    answer = await post(services, token)
    assert (answer.status, read(answer)) == (200, {"status": "ignored"})


async def test_a_body_over_the_cap_is_refused(world: World, services: Services) -> None:
    job, token = await job_and_token(world, services, JobState.AWAITING_RESULT)
    answer = await post(services, token, b"x" * (BODY_LIMIT + 1))
    assert (answer.status, read(answer)["code"]) == (413, "body_too_large")
    assert world.jobs.job(job.job_id) == job


@pytest.mark.parametrize("token", ["", "x", "A" * 91, "../jobs", "\ud800"])
async def test_a_bad_token_is_refused_and_not_shown(world: World, services: Services, token: str) -> None:
    answer = await post(services, token)
    assert (answer.status, read(answer)["code"]) == (401, "bad_callback_token")
    assert world.jobs.calls == []
    assert world.telemetry.counted("callbacks", outcome="bad_callback_token") == 1


async def test_one_that_comes_too_early_is_to_come_again(world: World, services: Services) -> None:
    _, token = await job_and_token(world, services, JobState.RUNNING)
    answer = await post(services, token)
    assert (answer.status, read(answer)["code"], answer.headers["Retry-After"]) == (503, "not_ready", "5")


async def test_a_storage_outage_is_to_be_waited_out(world: World, services: Services) -> None:
    _, token = await job_and_token(world, services, JobState.AWAITING_RESULT)
    world.storage_down()
    answer = await post(services, token)
    assert (answer.status, "Retry-After" in answer.headers) == (503, True)
