"""`GET /jobs/{job_id}` and its result."""

import json
from datetime import timedelta

import pytest

from shared.application import Application
from shared.deadletters.close import close
from shared.deadletters.decisions import Decision
from shared.deadletters.resubmit import Resubmission, resubmit
from shared.jobs import JobState
from shared.messages import JobMessage
from shared.services import Services
from tests.support.application import build_intake, new_job, store
from tests.support.cases import filed_job
from tests.support.fakes import World
from tests.unit.shared.http.job_calls import cancel, show
from tests.unit.shared.http.serving import call


async def test_a_job_is_shown_with_its_timeline(world: World, services: Services) -> None:
    job = await store(world, new_job(world))
    message = JobMessage.for_job(job)
    await Application(services, build_intake(services)).run_job(message.body(), message.properties(), None)
    shown = json.loads((await call(services, "get_job", job.job_id)).body)
    assert (shown["status"], shown["attempt"], shown["created_at"]) == (
        "succeeded",
        0,
        "2026-07-27T10:15:00.000Z",
    )
    assert [row["event"] for row in shown["timeline"]] == ["started", "succeeded"]
    assert shown["result_ref"].startswith(f"results/{job.job_id}/0-")
    assert "failure" not in shown
    result = await call(services, "get_result", job.job_id)
    assert (result.status, result.content_type, result.body) == (200, "text/plain", b"result of run 1")


async def test_a_failure_is_shown(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    shown = json.loads((await call(services, "get_job", job.job_id)).body)
    assert (shown["status"], shown["failure"]["category"]) == ("dead", "fix_input")


async def test_the_failure_of_an_earlier_release_is_not_that_of_the_present_one(
    world: World, services: Services
) -> None:
    job = await filed_job(services, world)
    decision = Decision(operator="ada", reason="It is there now.")
    await resubmit(services, job.job_id, decision, Resubmission())
    shown = json.loads((await call(services, "get_job", job.job_id)).body)
    assert (shown["status"], shown["release"]) == ("queued", 1)
    assert "failure" not in shown
    await cancel(services, job.job_id, {"reason": "Out of date."})
    ended = json.loads((await call(services, "get_job", job.job_id)).body)
    assert (ended["status"], "failure" in ended) == ("cancelled", False)


async def test_a_closed_job_keeps_its_failure(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    await close(services, job.job_id, Decision(operator="ada", reason="Nobody needs it."))
    shown = json.loads((await call(services, "get_job", job.job_id)).body)
    assert (shown["status"], shown["failure"]["category"]) == ("closed", "fix_input")


@pytest.mark.parametrize(
    ("state", "status"),
    [(JobState.QUEUED, 409), (JobState.DEAD, 409), (JobState.CLOSED, 404), (JobState.CANCELLED, 404)],
)
async def test_without_a_result_it_says_what_the_job_is(
    world: World, services: Services, state: JobState, status: int
) -> None:
    job = await store(world, new_job(world, state=state))
    answer = await call(services, "get_result", job.job_id)
    assert answer.status == status
    assert state.value in json.loads(answer.body)["detail"]


@pytest.mark.parametrize("route", ["get_job", "get_result"])
@pytest.mark.parametrize("job_id", ["", "MARKED", "job_" + "a" * 26, "job_" + "a" * 26 + "\n", "job_#?"])
async def test_an_unknown_job_is_not_found(services: Services, route: str, job_id: str) -> None:
    answer = await call(services, route, job_id)
    assert answer.status == 404
    assert json.loads(answer.body)["code"] == "job_not_found"
    assert b"MARKED" not in answer.body


async def test_a_wait_and_an_open_outcome_are_shown(world: World, services: Services) -> None:
    since = world.clock.now()
    job = await store(
        world,
        new_job(
            world,
            state=JobState.OUTCOME_UNKNOWN,
            waits=3,
            waiting_since=since,
            open_effects=("submit",),
            not_before=since + timedelta(minutes=1),
        ),
    )
    shown = json.loads((await call(services, "get_job", job.job_id)).body)
    assert (shown["waits"], shown["waiting_since"], shown["open_effects"], shown["not_before"]) == (
        3,
        "2026-07-27T10:15:00.000Z",
        ["submit"],
        "2026-07-27T10:16:00.000Z",
    )


async def test_a_job_that_never_waited_shows_nothing_of_it(world: World, services: Services) -> None:
    job = await store(world, new_job(world))
    shown = json.loads((await call(services, "get_job", job.job_id)).body)
    assert {"waits", "waiting_since", "open_effects", "cancel_requested", "review"}.isdisjoint(shown)


async def test_a_job_says_who_decided_about_it_when_and_why(world: World, services: Services) -> None:
    job = await store(world, new_job(world))
    assert "decisions" not in await show(services, job.job_id)
    await cancel(services, job.job_id, {"reason": "Out of date.", "operator": "ada"}, key="k")
    assert (await show(services, job.job_id))["decisions"] == [
        {
            "at": "2026-07-27T10:15:00.000Z",
            "action": "cancel",
            "operator": "ada",
            "reason": "Out of date.",
            "release": 0,
        }
    ]
