"""`POST /jobs` and `PUT /inputs/{name}`: one job a key, one document a name, and clear refusals."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from shared import uploads
from shared.http import submissions_api
from shared.http.bodies import BODY_LIMIT
from shared.http.exchange import HttpAnswer, HttpRequest
from shared.pipeline import ApiPolicy, Users
from shared.services import Services
from shared.settings import Settings
from shared.webhooks.large_bodies import LARGE_BODY, LargeBodies
from tests.support.application import DOCUMENT, TASK, build_services, pipeline
from tests.support.fakes import World
from tests.unit.shared.http.serving import serve

PDF = b"%PDF-1.7\n1 0 obj <<>> endobj"
ASKED = {"task_type": TASK, "input": "The crane was greased in May."}


@pytest.fixture
def services(world: World) -> Services:
    api = ApiPolicy(allowed_inputs=("inputs/documents/",), max_input=1024)
    return build_services(world, pipeline=replace(pipeline(), api=api))


async def ask(services: Services, document: Any = None, *, key: str | None = "key-1") -> HttpAnswer:
    body = document if isinstance(document, bytes) else json.dumps(document or ASKED).encode()
    headers = {} if key is None else {"idempotency-key": key}
    return await serve(
        services,
        "submit_job",
        HttpRequest(method="POST", url="http://localhost/api/jobs", headers=headers, body=body),
    )


async def put(
    services: Services, name: str = "report.pdf", content: bytes = PDF, **headers: str
) -> HttpAnswer:
    given = {"content-length": str(len(content))} | {k.replace("_", "-"): v for k, v in headers.items()}
    return await serve(
        services,
        "put_input",
        HttpRequest(
            method="PUT",
            url=f"http://localhost/api/inputs/{name}",
            headers={name: value for name, value in given.items() if value},
            params={"name": name},
            body=content,
        ),
    )


def said(answer: HttpAnswer) -> Any:
    return json.loads(answer.body)


async def test_a_job_is_stored_queued_and_answered(world: World, services: Services) -> None:
    answer = await ask(services)
    assert (answer.status, said(answer)["status"], said(answer)["duplicate"]) == (202, "accepted", False)
    snapshot = await world.jobs.load(said(answer)["job_id"])
    assert snapshot is not None
    assert (snapshot.job.source, snapshot.job.event_id, snapshot.job.task_type) == ("api", "key-1", TASK)
    (sent,) = world.bus.sent
    assert sent.message.job_id == snapshot.job.job_id


async def test_the_same_key_and_body_is_the_same_job(world: World, services: Services) -> None:
    first = await ask(services)
    again = await ask(services, json.dumps(ASKED, indent=2, sort_keys=True).encode())
    assert (again.status, said(again)["duplicate"]) == (200, True)
    assert said(again)["job_id"] == said(first)["job_id"]
    assert len(world.jobs.all_jobs()) == 1


@pytest.mark.parametrize(
    "change", [{"input": "Another text."}, {"input": {"a": 1}}, {"user_id": "user_205"}], ids=str
)
async def test_the_same_key_with_another_body_is_422(
    world: World, services: Services, change: dict[str, Any]
) -> None:
    await ask(services)
    refused = await ask(services, ASKED | change)
    assert (refused.status, said(refused)["code"]) == (422, "idempotency_key_reused")
    assert len(world.jobs.all_jobs()) == 1


async def test_another_key_is_another_job(world: World, services: Services) -> None:
    first, second = await ask(services), await ask(services, key="key-2")
    assert said(first)["job_id"] != said(second)["job_id"]


async def test_twenty_at_once_with_one_key_are_one_job(world: World, services: Services) -> None:
    answers = await asyncio.gather(*(ask(services) for _ in range(20)))
    assert sorted(answer.status for answer in answers) == [200] * 19 + [202]
    assert len({said(answer)["job_id"] for answer in answers}) == 1


@pytest.mark.parametrize("key", ["", "k" * 256, "\udcff"])
async def test_a_key_that_is_no_short_text_is_refused(world: World, services: Services, key: str) -> None:
    refused = await ask(services, key=key)
    assert (refused.status, said(refused)["code"]) == (400, "bad_request")
    assert world.jobs.all_jobs() == []


async def test_without_a_key_nothing_is_stored(world: World, services: Services) -> None:
    refused = await ask(services, key=None)
    assert (refused.status, said(refused)["code"]) == (400, "idempotency_key_required")
    assert world.jobs.all_jobs() == []


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (b"", "malformed_body"),
        (b'{"task_type":"a","task_type":"b"}', "malformed_body"),
        ([], "malformed_body"),
        ({"task_type": TASK}, "bad_request"),
        (ASKED | {"input_ref": DOCUMENT}, "bad_request"),
        (ASKED | {"colour": "MARKED"}, "bad_request"),
        (ASKED | {"user_id": 7}, "bad_request"),
        (ASKED | {"task_type": "MARKED"}, "unknown_task"),
    ],
    ids=str,
)
async def test_bad_input_is_refused_in_our_own_words(
    world: World, services: Services, document: Any, code: str
) -> None:
    refused = await ask(services, b"[]" if document == [] else document)
    assert (refused.status, said(refused)["code"]) == (400, code)
    assert b"MARKED" not in refused.body
    assert world.jobs.all_jobs() == []


async def test_a_document_must_be_there_and_allowed(world: World, services: Services) -> None:
    missing = await ask(services, {"task_type": TASK, "input_ref": DOCUMENT})
    assert (missing.status, said(missing)["code"]) == (400, "input_not_found")
    foreign = await ask(services, {"task_type": TASK, "input_ref": "results/job_a/0"})
    assert (foreign.status, said(foreign)["code"]) == (403, "input_not_allowed")
    odd = await ask(services, {"task_type": TASK, "input_ref": "inputs/../protected/a"})
    assert (odd.status, said(odd)["code"]) == (403, "input_not_allowed")
    assert world.jobs.all_jobs() == []
    await world.blobs.put_if_absent(DOCUMENT, b"text", "text/plain")
    assert (await ask(services, {"task_type": TASK, "input_ref": DOCUMENT})).status == 202


async def test_what_was_uploaded_can_be_used(services: Services) -> None:
    stored = said(await put(services))
    answer = await ask(services, {"task_type": TASK, "input_ref": stored["input_ref"]})
    assert answer.status == 202


async def test_a_queue_that_is_away_is_503_and_the_repeat_finishes(world: World, services: Services) -> None:
    world.bus.fail_next()
    first = await ask(services)
    assert (first.status, said(first)["code"]) == (503, "queue_unavailable")
    again = await ask(services)
    assert (again.status, said(again)["duplicate"]) == (200, True)
    assert len(world.bus.sent) == 1
    assert len(world.jobs.all_jobs()) == 1


async def test_a_document_is_stored_once_under_its_name(services: Services) -> None:
    first = await put(services)
    assert first.status == 201
    assert said(first)["input_ref"] == "inputs/uploads/report.pdf"
    assert (said(first)["size"], said(first)["content_type"]) == (len(PDF), "application/pdf")
    assert (await put(services)).status == 200
    other = await put(services, content=PDF + b" other")
    assert (other.status, said(other)["code"]) == (409, "input_exists")


@pytest.mark.parametrize("name", ["", "a/b.pdf", "..", ".hidden", "a\\b", "a b", "x" * 201, "end.", "ü.pdf"])
async def test_a_name_that_could_be_read_as_another_is_refused(services: Services, name: str) -> None:
    refused = await put(services, name)
    assert (refused.status, said(refused)["code"]) == (400, "bad_input_name")


async def test_size_and_kind_are_checked_before_anything_is_stored(world: World, services: Services) -> None:
    refusals = [
        await put(services, content=b""),
        await put(services, content=b"%PDF-" + b"x" * 1024),
        await put(services, content=b"\x89PNG\r\n\x1a\n"),
        await put(services, content_length=""),
    ]
    assert [(answer.status, said(answer)["code"]) for answer in refusals] == [
        (400, "malformed_body"),
        (413, "body_too_large"),
        (415, "unsupported_media_type"),
        (411, "length_required"),
    ]
    assert await world.blobs.info("inputs/uploads/report.pdf") is None


async def test_of_documents_put_under_one_name_at_once_one_is_stored(
    world: World, services: Services
) -> None:
    contents = [b"one", b"two"] * 5
    answers = await asyncio.gather(*(put(services, "a.txt", content) for content in contents))
    assert sorted(answer.status for answer in answers) == [200] * 4 + [201] + [409] * 5
    winner = next(c for c, answer in zip(contents, answers, strict=True) if answer.status == 201)
    assert world.blobs.content("inputs/uploads/a.txt") == winner


async def test_storage_that_is_away_is_503(world: World, services: Services) -> None:
    world.blobs.down = True
    answer = await put(services)
    assert (answer.status, said(answer)["code"]) == (503, "storage_unavailable")


PERSON = {"ids": "ada@example.com", "numbers": "16505551234"}


def asking_for(services: Services, users: Users, key: str | None) -> Services:
    """The services of an app that knows its users so, with this key for pseudonyms."""
    api = ApiPolicy(users=users)
    settings = Settings(pseudonym_key=None if key is None else SecretStr(key))
    return replace(services, pipeline=replace(services.pipeline, api=api), settings=settings)


@pytest.mark.parametrize("users", list(Users))
async def test_a_personal_user_id_is_stored_as_its_keyed_hash(
    world: World, services: Services, users: Users
) -> None:
    app = asking_for(services, users, "an invented key of the tests")
    assert (await ask(app, ASKED | {"user_id": PERSON[users]})).status == 202
    (job,) = world.jobs.all_jobs()
    assert job.user_id is not None
    assert job.user_id.startswith("h_")
    assert PERSON[users] not in repr(job)


@pytest.mark.parametrize("users", list(Users))
async def test_a_personal_user_id_without_a_key_is_503_and_the_log_says_which_setting(
    world: World, services: Services, users: Users, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await ask(asking_for(services, users, None), ASKED | {"user_id": PERSON[users]})
    assert (answer.status, said(answer)["code"]) == (503, "source_not_configured")
    assert answer.headers["Retry-After"]
    assert world.jobs.all_jobs() == []
    assert any("AFTERHOOK_PSEUDONYM_KEY" in record.getMessage() for record in caplog.records)
    assert PERSON[users] not in caplog.text + answer.body.decode()


async def test_a_number_stays_where_users_are_ids(world: World, services: Services) -> None:
    await ask(asking_for(services, Users.IDS, None), ASKED | {"user_id": PERSON["numbers"]})
    (job,) = world.jobs.all_jobs()
    assert job.user_id == PERSON["numbers"]


async def test_large_bodies_wait_for_their_turn_and_those_over_the_limit_do_not(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submissions_api, "ANSWER_WITHIN_SECONDS", 0.05)
    monkeypatch.setattr(uploads, "TURN_WITHIN_SECONDS", 0.05)
    api = replace(services.pipeline.api, max_input=2 * LARGE_BODY)
    one = LargeBodies(LARGE_BODY)
    services = replace(services, pipeline=replace(services.pipeline, api=api), large_bodies=one)
    large, too_large = {**ASKED, "input": "x" * LARGE_BODY}, {**ASKED, "input": "x" * BODY_LIMIT}
    async with one.turn(LARGE_BODY + 1):
        answers = [
            await ask(services, large),
            await ask(services, too_large),
            await put(services, "a.txt", b"x" * (LARGE_BODY + 1)),
            await put(services, "a.txt", b"x" * (2 * LARGE_BODY + 1)),
            await put(services, "small.txt", b"x"),
        ]
    assert [(answer.status, said(answer).get("code")) for answer in answers] == [
        (503, "overloaded"),
        (413, "body_too_large"),
        (503, "overloaded"),
        (413, "body_too_large"),
        (201, None),
    ]
    assert {answer.headers.get("Retry-After") for answer in (answers[0], answers[2])} == {"10"}
    monkeypatch.undo()
    assert (await ask(services, large)).status == 202
    assert (await put(services, "a.txt", b"x" * (LARGE_BODY + 1))).status == 201


async def test_another_large_body_under_a_key_is_refused_and_not_stored(
    world: World, services: Services
) -> None:
    for text, status in (("x", 202), ("y", 422), ("x", 200)):
        assert (await ask(services, {**ASKED, "input": text * LARGE_BODY})).status == status
    assert len(world.blobs.refs()) == 1
