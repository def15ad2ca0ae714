"""The desk's routes: the list, a case with all that is needed to decide, and outages."""

import json

import pytest

from shared.deadletters.handler import DeadLetterHandler
from shared.services import Services
from tests.support.cases import filed_job
from tests.support.fakes import World
from tests.unit.shared.http.desk_calls import DECISION, RECONCILE, call


async def test_the_list_shows_open_cases_newest_first_by_pages(world: World, services: Services) -> None:
    jobs = []
    for number in range(3):
        jobs.append(await filed_job(services, world, f"evt_{number}"))
        world.clock.advance(10)
    status, first = await call(services, "list_cases", query={"limit": "2"})
    assert (status, [case["job_id"] for case in first["cases"]]) == (200, [jobs[2].job_id, jobs[1].job_id])
    _, rest = await call(services, "list_cases", query={"limit": "2", "cursor": first["cursor"]})
    assert ([case["job_id"] for case in rest["cases"]], rest["cursor"]) == ([jobs[0].job_id], None)
    _, none = await call(services, "list_cases", query={"state": "closed"})
    assert none["cases"] == []


@pytest.mark.parametrize(
    "query",
    [
        {"state": "MARKED"},
        {"category": "MARKED"},
        {"limit": "0"},
        {"limit": "101"},
        {"limit": "MARKED"},
        {"limit": "9" * 5000},
        {"limit": "\u0665"},
        {"limit": ""},
        {"cursor": "MARKED"},
    ],
)
async def test_a_bad_query_is_told_and_not_echoed(services: Services, query: dict[str, str]) -> None:
    status, document = await call(services, "list_cases", query=query)
    assert status == 400
    assert "MARKED" not in json.dumps(document)


async def test_a_case_is_shown_with_all_that_is_needed_to_decide(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    status, shown = await call(services, "show_case", job.job_id)
    assert status == 200
    assert (shown["job_id"], shown["status"], shown["state"], shown["release"]) == (
        job.job_id,
        "dead",
        "open",
        0,
    )
    assert shown["failure"]["code"] == "document_missing"
    assert [row["event"] for row in shown["timeline"]] == ["case_filed"]
    assert shown["decisions"] == []


async def test_a_decision_is_shown_without_its_key(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    await call(services, "resubmit_case", job.job_id, DECISION, key="MARKED-key")
    _, shown = await call(services, "show_case", job.job_id)
    assert (shown["state"], shown["job_release"]) == ("resubmitted", 1)
    assert shown["decisions"][0]["reason"] == DECISION["reason"]
    assert "MARKED" not in json.dumps(shown)


async def test_an_unreadable_message_is_shown_and_closed(services: Services) -> None:
    await DeadLetterHandler(services).handle(b"nonsense", {}, 3)
    status, shown = await call(services, "show_case", "msg_3")
    assert (status, shown["code"]) == (200, "unreadable_message")
    assert (await call(services, "resubmit_case", "msg_3", DECISION))[1]["code"] == "not_resubmittable"
    assert (await call(services, "close_case", "msg_3", DECISION))[0] == 200


@pytest.mark.parametrize("route", ["show_case", "resubmit_case", "close_case", "reconcile_case"])
@pytest.mark.parametrize(
    "case_id", ["", "MARKED", "job_#?", "job_" + "a" * 26, "msg_x", "msg_1\n", "x" * 5000]
)
async def test_what_is_no_case_is_not_found(services: Services, route: str, case_id: str) -> None:
    body = RECONCILE if route == "reconcile_case" else DECISION
    status, document = await call(services, route, case_id, body)
    assert (status, document["code"]) == (404, "case_not_found")
    assert document["detail"] == "There is no case of this id."


@pytest.mark.parametrize(
    "route",
    ["list_cases", "show_case", "resubmit_case", "close_case", "get_job", "reconcile_case", "cancel_job"],
)
async def test_a_storage_outage_is_a_503_that_asks_to_come_back(
    world: World, services: Services, route: str
) -> None:
    job = await filed_job(services, world)
    world.storage_down()
    body = RECONCILE if route == "reconcile_case" else DECISION
    status, document = await call(services, route, job.job_id, body)
    assert (status, document["code"]) == (503, "storage_unavailable")
