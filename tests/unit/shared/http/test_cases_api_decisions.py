"""Decisions over the desk's routes: inputs, keys, every refusal, and bad input that is never echoed."""

from datetime import timedelta
from typing import Any

import pytest

from shared.inputs import place_input
from shared.jobs import JobState
from shared.ports import RowKind
from shared.services import Services
from tests.support.application import new_job, store
from tests.support.cases import filed_job
from tests.support.fakes import World
from tests.unit.shared.http.desk_calls import DECISION, call


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
