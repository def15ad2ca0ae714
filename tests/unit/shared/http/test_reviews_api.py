"""Results that wait for a review: who sees them when, and how they are judged."""

import json
from typing import Any

import pytest

from shared.adapters.cursors import to_cursor
from shared.finishing import finish
from shared.jobs import Job, JobState, Review, StoredResult
from shared.services import Services
from tests.support.application import new_job, store
from tests.support.fakes import World
from tests.unit.shared.http.serving import call

DECISION = {"operator": "ada", "reason": "It is fit to be shown."}
REF = "results/a/0"
RESULT = StoredResult(ref=REF, content_type="text/plain", sha256="0" * 64, size=8)


async def code(services: Services, route: str, job_id: str, body: Any = None) -> tuple[int, str]:
    answer = await call(services, route, job_id, body)
    return answer.status, json.loads(answer.body)["code"]


async def finished(
    world: World, review: Review | None = Review.PENDING, event_id: str = "evt_1", **changes: Any
) -> Job:
    world.blobs.put_now(REF, b"a result", "text/plain")
    given: dict[str, Any] = {"state": JobState.SUCCEEDED, "review": review, "result": RESULT}
    return await store(world, new_job(world, event_id, **(given | changes)), opened=False)


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


async def listed(services: Services, **query: str) -> dict[str, Any]:
    answer = await call(services, "list_reviews", "", query=query)
    assert answer.status == 200
    document: dict[str, Any] = json.loads(answer.body)
    return document


async def test_what_waits_is_listed_page_by_page_the_first_released_first(
    world: World, services: Services
) -> None:
    jobs = []
    for number in range(3):
        jobs.append(await finished(world, event_id=f"evt_{number}"))
        world.clock.advance(60)
    for job in reversed(jobs):
        await finish(services, job, 0)
    first = await listed(services, limit="2")
    rest = await listed(services, limit="2", cursor=first["cursor"])
    assert [each["job_id"] for each in first["reviews"] + rest["reviews"]] == [job.job_id for job in jobs]
    assert rest["cursor"] is None
    assert first["reviews"][0] == {
        "job_id": jobs[0].job_id,
        "release": 0,
        "task_type": jobs[0].task_type,
        "source": "events",
        "released_at": "2026-07-27T10:15:00.000Z",
        "since": "2026-07-27T10:15:00.000Z",
        "content_type": "text/plain",
        "size": 8,
    }
    assert len((await listed(services, task_type=jobs[0].task_type))["reviews"]) == 3
    assert await listed(services, task_type="generate_video") == {"reviews": [], "cursor": None}
    await call(services, "approve_result", jobs[0].job_id, DECISION)
    assert len((await listed(services))["reviews"]) == 2


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"limit": "0"}, "bad_request"),
        ({"limit": "101"}, "bad_request"),
        ({"limit": "MARKED"}, "bad_request"),
        ({"cursor": "MARKED"}, "bad_cursor"),
        ({"cursor": to_cursor("open", "MARKED")}, "bad_cursor"),
    ],
)
async def test_a_bad_query_is_told_and_not_echoed(
    services: Services, query: dict[str, str], expected: str
) -> None:
    answer = await call(services, "list_reviews", "", query=query)
    assert (answer.status, json.loads(answer.body)["code"]) == (400, expected)
    assert b"MARKED" not in answer.body
