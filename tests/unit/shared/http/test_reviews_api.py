"""Results that wait for a review: who sees them when, and how they are judged."""

import json
from typing import Any

import pytest

from shared.application import Application
from shared.http.exchange import HttpAnswer, HttpRequest, answered
from shared.jobs import Job, JobState, Review, StoredResult
from shared.services import Services
from tests.support.application import build_intake, build_services, new_job, store
from tests.support.fakes import World

DECISION = {"operator": "ada", "reason": "It is fit to be shown."}
REF = "results/a/0"
RESULT = StoredResult(ref=REF, content_type="text/plain", sha256="0" * 64, size=8)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def services(world: World) -> Services:
    return build_services(world)


async def call(services: Services, route: str, job_id: str, body: Any = None) -> HttpAnswer:
    request = HttpRequest(
        method="POST" if body is not None else "GET",
        url="http://localhost/api",
        headers={},
        params={"job_id": job_id},
        body=b"" if body is None else json.dumps(body).encode(),
    )
    application = Application(services, build_intake(services))
    return await answered(lambda: application.serve(route, request))


async def code(services: Services, route: str, job_id: str, body: Any = None) -> tuple[int, str]:
    answer = await call(services, route, job_id, body)
    return answer.status, json.loads(answer.body)["code"]


async def finished(world: World, review: Review | None = Review.PENDING, **changes: Any) -> Job:
    world.blobs.put_now(REF, b"a result", "text/plain")
    given: dict[str, Any] = {"state": JobState.SUCCEEDED, "review": review, "result": RESULT}
    return await store(world, new_job(world, **(given | changes)), opened=False)


async def test_a_result_is_withheld_until_it_is_approved(world: World, services: Services) -> None:
    job = await finished(world)
    assert await code(services, "get_result", job.job_id) == (409, "awaiting_review")
    view = json.loads((await call(services, "get_job", job.job_id)).body)
    assert (view["status"], view["review"], "result_ref" in view) == ("succeeded", "pending", False)
    answer = await call(services, "approve_result", job.job_id, DECISION)
    assert (answer.status, json.loads(answer.body)) == (200, {"job_id": job.job_id, "review": "approved"})
    assert (await call(services, "get_result", job.job_id)).body == b"a result"
    view = json.loads((await call(services, "get_job", job.job_id)).body)
    assert (view["review"], view["result_ref"]) == ("approved", REF)


async def test_a_rejected_result_is_never_shown(world: World, services: Services) -> None:
    job = await finished(world)
    answer = await call(services, "reject_result", job.job_id, DECISION)
    assert (answer.status, json.loads(answer.body)["review"]) == (200, "rejected")
    assert await code(services, "get_result", job.job_id) == (410, "result_rejected")
    assert await code(services, "approve_result", job.job_id, DECISION) == (409, "already_reviewed")
    view = json.loads((await call(services, "get_job", job.job_id)).body)
    assert (view["review"], "result_ref" in view) == ("rejected", False)
    [decided] = view["decisions"]
    assert {name: decided[name] for name in DECISION} == DECISION
    assert decided["action"] == "reject"


@pytest.mark.parametrize("review", list(Review))
async def test_operators_see_it_whatever_the_verdict(
    world: World, services: Services, review: Review
) -> None:
    job = await finished(world, review)
    answer = await call(services, "show_review", job.job_id)
    assert (answer.status, answer.body, answer.content_type) == (200, b"a result", "text/plain")


async def test_what_needs_no_review_has_none(world: World, services: Services) -> None:
    job = await finished(world, None)
    assert await code(services, "show_review", job.job_id) == (409, "no_review")
    assert await code(services, "approve_result", job.job_id, DECISION) == (409, "no_review")
    view = json.loads((await call(services, "get_job", job.job_id)).body)
    assert "review" not in view


@pytest.mark.parametrize("route", ["approve_result", "reject_result"])
@pytest.mark.parametrize("missing", ["operator", "reason"])
async def test_a_verdict_needs_an_operator_and_a_reason(
    world: World, services: Services, route: str, missing: str
) -> None:
    job = await finished(world)
    for body in ({**DECISION, missing: "  "}, {k: v for k, v in DECISION.items() if k != missing}):
        assert await code(services, route, job.job_id, body) == (400, f"{missing}_required")
    assert world.jobs.job(job.job_id) == job


@pytest.mark.parametrize("route", ["approve_result", "reject_result", "show_review"])
@pytest.mark.parametrize("job_id", ["", "msg_7", "job_" + "a" * 26])
async def test_an_unknown_job_is_not_found(world: World, services: Services, route: str, job_id: str) -> None:
    body = None if route == "show_review" else DECISION
    assert await code(services, route, job_id, body) == (404, "job_not_found")


async def test_a_result_that_was_deleted_is_gone(world: World, services: Services) -> None:
    job = await finished(world, None, result_gone=True, inputs_gone=True)
    assert await code(services, "get_result", job.job_id) == (410, "result_gone")
    view = json.loads((await call(services, "get_job", job.job_id)).body)
    assert (view["result_gone"], view["inputs_gone"]) == (True, True)
