"""The desk's routes: shapes, every refusal, and bad input that is never echoed."""

import json
from datetime import timedelta
from typing import Any

import pytest

from shared.application import Application
from shared.deadletters.handler import DeadLetterHandler
from shared.effects.records import EffectState
from shared.http.exchange import HttpAnswer, HttpRequest, answered
from shared.inputs import place_input
from shared.jobs import JobState
from shared.ports import RowKind
from shared.services import Services
from tests.support.application import build_intake, new_job, store
from tests.support.cases import filed_job
from tests.support.effects import an_effect, job_of_unknown_outcome, put_effect
from tests.support.fakes import World

DECISION = {"operator": "ada", "reason": "It is there now."}
RECONCILE = DECISION | {"effect": "submit", "outcome": "done", "external_id": "video_7"}


async def call(
    services: Services,
    route: str,
    case_id: str = "",
    body: Any = None,
    *,
    query: dict[str, str] | None = None,
    key: str | None = None,
) -> tuple[int, dict[str, Any]]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
    request = HttpRequest(
        method="POST" if body is not None else "GET",
        url="http://localhost/api",
        headers={} if key is None else {"idempotency-key": key},
        params={"job_id": case_id},
        query=query or {},
        body=raw,
    )
    application = Application(services, build_intake(services))
    answer = await answered(lambda: application.serve(route, request))
    return answer.status, read(answer)


def read(answer: HttpAnswer) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(answer.body)
    if answer.status >= 400:
        assert answer.content_type == "application/problem+json"
        assert set(document) == {"type", "title", "status", "detail", "code"}
        assert document["status"] == answer.status
    return document


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


async def test_a_resubmit_answers_with_its_release(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    assert await call(services, "resubmit_case", job.job_id, DECISION) == (
        202,
        {"job_id": job.job_id, "release": 1},
    )
    assert (await call(services, "resubmit_case", job.job_id, DECISION))[1]["code"] == "not_dead"


async def test_a_finished_job_is_already_done(world: World, services: Services) -> None:
    job = await store(world, new_job(world, state=JobState.SUCCEEDED))
    status, document = await call(services, "resubmit_case", job.job_id, DECISION)
    assert (status, document["code"]) == (409, "already_done")


async def test_without_the_bus_a_resubmit_says_that_it_is_stored(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    world.bus.down = True
    status, document = await call(services, "resubmit_case", job.job_id, DECISION)
    assert (status, document["release"]) == (202, 1)
    assert "stored" in document["detail"]


@pytest.mark.parametrize(
    ("given", "content", "content_type"),
    [
        ("A text.", b"A text.", "text/plain; charset=utf-8"),
        ({"a": "\u00e9"}, '{"a": "\u00e9"}'.encode(), None),
        ("\ud800", "\ufffd".encode(), "text/plain; charset=utf-8"),
    ],
)
async def test_an_input_may_be_given_as_text_or_json(
    world: World, services: Services, given: Any, content: bytes, content_type: str | None
) -> None:
    job = await filed_job(services, world)
    status, _ = await call(services, "resubmit_case", job.job_id, DECISION | {"input": given})
    assert status == 202
    ref = world.jobs.job(job.job_id).input_ref
    assert ref is not None
    assert ref == place_input(job.job_id, content).ref
    (row,) = await world.jobs.rows(job.job_id, RowKind.INPUT)
    assert row.data["content_type"] == content_type


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "malformed_body"),
        (b"MARKED", "malformed_body"),
        (b"[]", "malformed_body"),
        (b"\xff", "malformed_body"),
        ({"operator": "ada"}, "reason_required"),
        ({"operator": "ada", "reason": "  "}, "reason_required"),
        ({"operator": "ada", "reason": 5}, "bad_request"),
        ({"operator": "ada", "reason": None}, "reason_required"),
        ({"operator": "ada", "reason": "\u200b\x00 \u2028\x1b"}, "reason_required"),
        ({"operator": "\x00\u202e", "reason": "r"}, "operator_required"),
        ({"operator": "o" * 201, "reason": ""}, "reason_required"),
        ({"operator": "ada", "reason": "MARKED" * 400}, "bad_request"),
        ({"reason": "MARKED"}, "operator_required"),
        ({"operator": "MARKED" * 50, "reason": "r"}, "bad_request"),
        (DECISION | {"MARKED": 1}, "bad_request"),
        (DECISION | {"at": "MARKED"}, "bad_request"),
        (DECISION | {"at": "2026-07-27T10:15:00"}, "bad_request"),
        (DECISION | {"at": "9999-12-31T23:59:59Z"}, "bad_request"),
        (DECISION | {"input_ref": ""}, "bad_request"),
        (DECISION | {"input_ref": "MARKED\ud800"}, "bad_request"),
        (DECISION | {"input_ref": "inputs/documents/a", "input": "b"}, "bad_request"),
        ({"operator": "\ud800", "reason": "r"}, "bad_request"),
    ],
)
async def test_a_bad_decision_changes_nothing_and_is_not_echoed(
    world: World, services: Services, body: Any, code: str
) -> None:
    job = await filed_job(services, world)
    status, document = await call(services, "resubmit_case", job.job_id, body)
    assert (status, document["code"]) == (400, code)
    assert "MARKED" not in document["detail"]
    assert world.jobs.job(job.job_id) == job


async def test_a_wrong_field_is_told_in_our_own_words(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    body = {"operator": "o" * 201, "reason": 5, "at": "soon", "input_ref": "", "else": 1}
    _, document = await call(services, "resubmit_case", job.job_id, body)
    assert document["detail"] == (
        "`operator` must be text of 1 to 200 characters. `reason` must be text of 1 to 2000 characters. "
        "`input_ref` must be text of 1 to 1100 characters. "
        "`at` must be a time with its offset from UTC, such as 2026-07-27T10:15:00Z. "
        "There are other fields than `operator`, `reason`, `input_ref`, `input`, `at`."
    )


async def test_operator_and_reason_are_kept_as_one_visible_line(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    body = {"operator": " a\u202eda ", "reason": "It is\x1b[0m there\x00."}
    assert (await call(services, "close_case", job.job_id, body))[0] == 200
    _, shown = await call(services, "show_case", job.job_id)
    assert (shown["operator"], shown["reason"]) == ("a?da", "It is?[0m there?.")


async def test_a_body_over_the_limit_is_refused(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    status, document = await call(services, "close_case", job.job_id, b" " * (1024 * 1024 + 1))
    assert (status, document["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("key", ["", "k" * 256])
async def test_a_key_of_a_wrong_length_is_refused(world: World, services: Services, key: str) -> None:
    job = await filed_job(services, world)
    assert (await call(services, "close_case", job.job_id, DECISION, key=key))[0] == 400


async def test_a_key_used_for_something_else_is_unprocessable(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    await call(services, "resubmit_case", job.job_id, DECISION, key="k")
    again = DECISION | {"reason": "Another."}
    status, document = await call(services, "resubmit_case", job.job_id, again, key="k")
    assert (status, document["code"]) == (422, "idempotency_key_reused")


async def test_a_repeat_whose_start_has_passed_is_answered_the_same(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    body = DECISION | {"at": (world.clock.now() + timedelta(minutes=1)).isoformat()}
    first = await call(services, "resubmit_case", job.job_id, body, key="k")
    world.clock.advance(300)
    assert await call(services, "resubmit_case", job.job_id, body, key="k") == first


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
