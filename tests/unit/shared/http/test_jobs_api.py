"""`GET /jobs/{job_id}` and its result."""

import json
from datetime import timedelta
from typing import Any

import pytest

from shared.application import Application
from shared.deadletters.close import close
from shared.deadletters.decisions import Decision
from shared.deadletters.resubmit import Resubmission, resubmit
from shared.http.exchange import HttpAnswer, HttpRequest, answered
from shared.jobs import JobState, Review
from shared.messages import JobMessage
from shared.notify.delivery import deliver
from shared.notify.notifier import Attempt, NoRoom, NotTold, Told
from shared.services import Services
from tests.support.application import build_intake, build_services, new_job, store
from tests.support.cases import filed_job
from tests.support.fakes import World
from tests.support.notify import RECEIVER, succeeded_job, telling_pipeline


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


async def test_the_failure_of_an_earlier_release_is_not_that_of_the_present_one(
    world: World, services: Services
) -> None:
    job = await filed_job(services, world)
    decision = Decision(operator="ada", reason="It is there now.")
    await resubmit(services, job.job_id, decision, Resubmission())
    shown = json.loads((await get(services, "get_job", job.job_id)).body)
    assert (shown["status"], shown["release"]) == ("queued", 1)
    assert "failure" not in shown
    await cancel(services, job.job_id, {"reason": "Out of date."})
    ended = json.loads((await get(services, "get_job", job.job_id)).body)
    assert (ended["status"], "failure" in ended) == ("cancelled", False)


async def test_a_closed_job_keeps_its_failure(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    await close(services, job.job_id, Decision(operator="ada", reason="Nobody needs it."))
    shown = json.loads((await get(services, "get_job", job.job_id)).body)
    assert (shown["status"], shown["failure"]["category"]) == ("closed", "fix_input")


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


async def cancel(services: Services, job_id: str, body: Any, *, key: str | None = None) -> HttpAnswer:
    request = HttpRequest(
        method="POST",
        url="http://localhost/api",
        headers={} if key is None else {"idempotency-key": key},
        params={"job_id": job_id},
        body=json.dumps(body).encode(),
    )
    application = Application(services, build_intake(services))
    return await answered(lambda: application.serve("cancel_job", request))


@pytest.mark.parametrize("more", [{}, {"operator": "ada"}, {"operator": None}])
async def test_a_waiting_job_is_cancelled_and_says_so_again(
    world: World, services: Services, more: dict[str, str | None]
) -> None:
    job = await store(world, new_job(world))
    for _ in range(2):
        answer = await cancel(services, job.job_id, {"reason": "Out of date."} | more)
        assert answer.status == 200
        assert json.loads(answer.body) == {"job_id": job.job_id, "status": "cancelled"}
    shown = json.loads((await get(services, "get_job", job.job_id)).body)
    assert shown["status"] == "cancelled"
    assert "cancel_requested" not in shown


async def test_a_running_job_is_asked_to_end(world: World, services: Services) -> None:
    job = await store(world, new_job(world, state=JobState.RUNNING))
    answer = await cancel(services, job.job_id, {"reason": "Out of date."})
    assert (answer.status, json.loads(answer.body)["status"]) == (202, "cancelling")
    shown = json.loads((await get(services, "get_job", job.job_id)).body)
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
    shown = json.loads((await get(services, "get_job", job.job_id)).body)
    assert (shown["waits"], shown["waiting_since"], shown["open_effects"], shown["not_before"]) == (
        3,
        "2026-07-27T10:15:00.000Z",
        ["submit"],
        "2026-07-27T10:16:00.000Z",
    )


async def test_a_job_that_never_waited_shows_nothing_of_it(world: World, services: Services) -> None:
    job = await store(world, new_job(world))
    shown = json.loads((await get(services, "get_job", job.job_id)).body)
    assert {"waits", "waiting_since", "open_effects", "cancel_requested", "review"}.isdisjoint(shown)


async def show(services: Services, job_id: str) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads((await get(services, "get_job", job_id)).body)
    return shown


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


@pytest.mark.parametrize(
    ("attempts", "told"),
    [
        ([], {"state": "waiting", "failed_attempts": 0, "next_at": "2026-07-27T10:15:00.000Z"}),
        ([Told()], {"state": "delivered", "failed_attempts": 0}),
        (
            [NotTold(code="receiver_failed", status=503)],
            {
                "state": "waiting",
                "failed_attempts": 1,
                "code": "receiver_failed",
                "http_status": 503,
                "next_at": "2026-07-27T10:15:05.000Z",
            },
        ),
        (
            [NotTold(code="secret_unusable")],
            {
                "state": "waiting",
                "failed_attempts": 1,
                "code": "secret_unusable",
                "next_at": "2026-07-27T10:15:05.000Z",
            },
        ),
        (
            [NoRoom()],
            {
                "state": "waiting",
                "failed_attempts": 0,
                "code": "receiver_busy",
                "next_at": "2026-07-27T10:15:05.000Z",
            },
        ),
        ([NotTold(code="refused", status=404), Told()], {"state": "delivered", "failed_attempts": 1}),
        (
            [NotTold(code="receiver_gone", status=410, for_good=True)],
            {"state": "given_up", "failed_attempts": 1, "code": "receiver_gone", "http_status": 410},
        ),
    ],
    ids=["not tried", "delivered", "failed", "secret", "busy", "delivered later", "given up"],
)
async def test_a_job_says_how_far_the_telling_of_its_end_came(
    world: World, attempts: list[Attempt], told: dict[str, Any]
) -> None:
    services = build_services(world, pipeline=telling_pipeline())
    job = await succeeded_job(services, world)
    world.notifier.script = list(attempts)
    world.randomness.next_fractions = [0.0] * len(attempts)
    for _ in attempts:
        await deliver(services, job)
        world.clock.advance(6)
    answer = await get(services, "get_job", job.job_id)
    assert json.loads(answer.body)["notification"] == {"type": "job.succeeded"} | told
    assert RECEIVER.encode() not in answer.body


async def test_a_job_whose_end_is_told_nobody_says_so(world: World, services: Services) -> None:
    job = await store(world, new_job(world, state=JobState.SUCCEEDED))
    assert (await show(services, job.job_id))["notification"] == {"state": "not_configured"}


async def test_a_receiver_that_is_no_longer_configured_is_told_nothing_more(
    world: World, services: Services
) -> None:
    job = await succeeded_job(build_services(world, pipeline=telling_pipeline()), world)
    told = (await show(services, job.job_id))["notification"]
    assert (told["state"], "next_at" in told) == ("not_configured", False)


@pytest.mark.parametrize("review", [Review.PENDING, Review.REJECTED])
async def test_a_review_withholds_the_telling_too(world: World, review: Review) -> None:
    services = build_services(world, pipeline=telling_pipeline())
    job = await succeeded_job(services, world, review=review)
    assert (await show(services, job.job_id))["notification"] == {"state": "withheld"}


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.RUNNING, JobState.CANCELLED])
async def test_nothing_is_said_of_telling_where_there_is_nothing_to_tell(
    world: World, state: JobState
) -> None:
    services = build_services(world, pipeline=telling_pipeline())
    job = await store(world, new_job(world, state=state))
    assert "notification" not in await show(services, job.job_id)
