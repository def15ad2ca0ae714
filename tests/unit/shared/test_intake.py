"""From a webhook to a stored and queued job: each answer, repeats, races, outages, kills."""

import asyncio
import json
import threading
from dataclasses import replace
from typing import Any

import pytest

from shared.errors import QueueUnavailable, StorageUnavailable
from shared.failpoints import Point
from shared.inputs import place_input
from shared.intake import Accepted, Ignored, Intake
from shared.jobs import JobState, job_id_for
from shared.pipeline import Users
from shared.ports import RowKind
from shared.services import Services
from shared.webhooks.base import Options, Reply, Trust, WebhookEvent, WebhookRequest
from shared.webhooks.rejections import (
    BadSignature,
    BodyTooLarge,
    LengthRequired,
    MalformedBody,
    StaleTimestamp,
    UnknownSource,
    WebhookRejected,
)
from shared.webhooks.secrets import SourceNotConfigured
from shared.webhooks.standard import Standard
from tests.support.application import SOURCE, build_intake, build_services, note, pipeline, webhook
from tests.support.cases import filed_job, snapshot_of
from tests.support.fakes import World
from tests.support.kills import killed_at

JOB_ID = job_id_for(SOURCE, "", "evt_1")
DOCUMENT = {"type": "document.added", "data": {"document": "inputs/documents/a.pdf", "user": "user_204"}}


@pytest.fixture
def intake(services: Services) -> Intake:
    return build_intake(services)


async def receive(intake: Intake, world: World, document: Any = None, **request: Any) -> Any:
    sent = webhook(world, note() if document is None else document, **request)
    receipts = await intake.receive(SOURCE, sent)
    assert not isinstance(receipts, Reply)
    (receipt,) = receipts
    return receipt


async def test_an_event_is_stored_opened_and_queued(world: World, intake: Intake) -> None:
    assert await receive(intake, world, DOCUMENT) == Accepted(JOB_ID, duplicate=False)
    job = world.jobs.job(JOB_ID)
    assert (job.state, job.input_ref, job.user_id) == (JobState.QUEUED, "inputs/documents/a.pdf", "user_204")
    assert world.open.keys() == {(JOB_ID, 0)}
    (sent,) = world.bus.sent
    assert (sent.message_id, sent.at) == (f"{JOB_ID}:0:0", None)


@pytest.mark.parametrize("size", [10, 40_000])
async def test_an_input_in_the_event_is_stored_with_the_job(world: World, intake: Intake, size: int) -> None:
    await receive(intake, world, note("x" * size))
    ref = world.jobs.job(JOB_ID).input_ref
    assert ref is not None
    if size < 32 * 1024:
        row = await world.jobs.row(JOB_ID, RowKind.INPUT, ref.rsplit("/", 1)[1])
        assert row is not None
        assert row.content == b"x" * size
    else:
        assert world.blobs.content(ref) == b"x" * size


async def test_an_unwanted_event_is_ignored_and_leaves_nothing(world: World, intake: Intake) -> None:
    assert await receive(intake, world, {"type": "ping"}) == Ignored()
    assert (world.jobs.all_jobs(), world.open.keys(), world.bus.sent) == ([], set(), [])


@pytest.mark.parametrize("size", [10, 40_000])
async def test_an_event_without_its_input_still_becomes_a_job_and_is_kept(
    world: World, intake: Intake, size: int
) -> None:
    document = {"type": "document.added", "data": {"elsewhere": "x" * size}}
    assert await receive(intake, world, document) == Accepted(JOB_ID, duplicate=False)
    assert world.jobs.job(JOB_ID).input_ref is None
    (row,) = await world.jobs.rows(JOB_ID, RowKind.TIMELINE)
    assert "found nothing" in row.data["note"]
    content = json.dumps(document).encode()
    ref = place_input(JOB_ID, content).ref
    assert row.data["note"].endswith(f"The event is kept as {ref}.")
    inline = await world.jobs.rows(JOB_ID, RowKind.INPUT)
    kept = [kept.content for kept in inline] or [world.blobs.content(ref)]
    assert kept == [content]


async def test_an_event_that_names_its_document_is_not_kept_itself(world: World, intake: Intake) -> None:
    await receive(intake, world, DOCUMENT)
    assert await world.jobs.rows(JOB_ID, RowKind.INPUT) == []


async def test_a_document_outside_the_allowed_ones_is_told_on_the_timeline(
    world: World, intake: Intake
) -> None:
    await receive(intake, world, {"type": "document.added", "data": {"document": "inputs/private/a.pdf"}})
    (row,) = await world.jobs.rows(JOB_ID, RowKind.TIMELINE)
    assert "allowed_inputs" in row.data["note"]
    await receive(intake, world, DOCUMENT, event_id="evt_2")
    (row,) = await world.jobs.rows(job_id_for(SOURCE, "", "evt_2"), RowKind.TIMELINE)
    assert "note" not in row.data


async def test_a_duplicate_is_answered_with_the_same_job_id(world: World, intake: Intake) -> None:
    await receive(intake, world)
    assert await receive(intake, world) == Accepted(JOB_ID, duplicate=True)
    assert [sent.dropped for sent in world.bus.sent] == [False, True]
    assert len(world.jobs.all_jobs()) == 1


async def test_fifty_copies_at_once_give_one_job(world: World, intake: Intake) -> None:
    receipts = await asyncio.gather(*(receive(intake, world) for _ in range(50)))
    assert sum(not receipt.duplicate for receipt in receipts) == 1
    assert {receipt.job_id for receipt in receipts} == {JOB_ID}
    assert len(world.bus.accepted()) == 1
    assert world.open.keys() == {(JOB_ID, 0)}


async def test_a_first_send_that_failed_is_made_good_by_the_second_delivery(
    world: World, intake: Intake
) -> None:
    world.bus.fail_next("send")
    with pytest.raises(QueueUnavailable):
        await receive(intake, world)
    assert await receive(intake, world) == Accepted(JOB_ID, duplicate=True)
    assert len(world.bus.accepted()) == 1


async def test_a_duplicate_that_cannot_send_is_not_acknowledged(world: World, intake: Intake) -> None:
    world.bus.down = True
    for _ in range(2):
        with pytest.raises(QueueUnavailable):
            await receive(intake, world)


async def test_a_duplicate_of_a_running_job_sends_nothing(world: World, intake: Intake) -> None:
    await receive(intake, world)
    snapshot = await snapshot_of(world, JOB_ID)
    await world.jobs.commit(snapshot, snapshot.job.moved(JobState.RUNNING, world.clock.now(), claim=1))
    await receive(intake, world)
    assert len(world.bus.sent) == 1
    assert world.open.keys() == {(JOB_ID, 0)}


async def test_a_duplicate_of_a_job_that_needs_nobody_leaves_no_open_row(
    world: World, services: Services, intake: Intake
) -> None:
    await filed_job(services, world, "evt_1")
    assert await receive(intake, world) == Accepted(JOB_ID, duplicate=True)
    assert (world.open.keys(), world.bus.sent) == (set(), [])


async def test_the_same_id_with_another_body_is_flagged_and_not_run(world: World, intake: Intake) -> None:
    await receive(intake, world)
    stored = world.jobs.job(JOB_ID)
    assert await receive(intake, world, note("Another text.")) == Accepted(JOB_ID, duplicate=True)
    assert world.jobs.job(JOB_ID) == stored
    events = [row.data["event"] for row in await world.jobs.rows(JOB_ID, RowKind.TIMELINE)]
    assert events == ["accepted", "same_id_other_body"]
    assert world.telemetry.counted("webhooks_same_id_other_body", source=SOURCE) == 1


@pytest.mark.parametrize("call", ["jobs.insert", "open.put", "jobs.load"])
@pytest.mark.parametrize("after", [False, True])
async def test_nothing_is_acknowledged_while_a_write_is_not_confirmed(
    world: World, intake: Intake, call: str, after: bool
) -> None:
    if call == "jobs.load":
        await receive(intake, world)
    fake, method = call.split(".")
    getattr(world, fake).fail_next(method, after=after)
    with pytest.raises(StorageUnavailable):
        await receive(intake, world)
    assert (await receive(intake, world)).job_id == JOB_ID
    assert len(world.bus.accepted()) == 1
    assert world.open.keys() == {(JOB_ID, 0)}


@pytest.mark.parametrize(
    "point",
    [
        Point.INTAKE_BEFORE_STORE,
        Point.INTAKE_BEFORE_JOB_ROW,
        Point.INTAKE_AFTER_JOB_ROW,
        Point.INTAKE_BEFORE_OPEN_ROW,
        Point.INTAKE_AFTER_OPEN_ROW,
        Point.INTAKE_BEFORE_SEND,
        Point.INTAKE_AFTER_SEND,
    ],
)
async def test_a_kill_before_the_answer_is_made_good_by_the_next_delivery(
    world: World, intake: Intake, point: Point
) -> None:
    async with killed_at(point):
        await receive(intake, world)
    assert (await receive(intake, world)).job_id == JOB_ID
    assert len(world.jobs.all_jobs()) == 1
    assert len(world.bus.accepted()) == 1
    assert world.open.keys() == {(JOB_ID, 0)}


async def _hang() -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("call", "error"),
    [("jobs.insert", StorageUnavailable), ("open.put", StorageUnavailable), ("bus.send", QueueUnavailable)],
)
async def test_what_hangs_is_given_up_and_not_acknowledged(
    world: World, intake: Intake, call: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Standard, "answer_within", 0.2)
    fake, method = call.split(".")
    getattr(world, fake).before(method, _hang)
    with pytest.raises(error):
        await receive(intake, world)


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ({"webhook-signature": ""}, BadSignature),
        ({"webhook-signature": "v1,AAAA"}, BadSignature),
        ({"webhook-signature": "v1,\u00e9"}, BadSignature),
        ({"webhook-timestamp": "1"}, BadSignature),
        ({"content-length": ""}, LengthRequired),
        ({"content-length": "-1"}, LengthRequired),
        ({"content-length": "\u0665"}, LengthRequired),
        ({"content-length": str(256 * 1024 + 1)}, BodyTooLarge),
        ({"content-length": "9" * 5000}, BodyTooLarge),
    ],
)
async def test_what_is_refused_is_not_stored(
    world: World, intake: Intake, headers: dict[str, str], error: type[WebhookRejected]
) -> None:
    with pytest.raises(error):
        await receive(intake, world, headers=headers)
    assert (world.jobs.calls, world.open.calls, world.bus.calls) == ([], [], [])
    assert world.telemetry.counted("webhooks_rejected", source=SOURCE, code=error.code) == 1


@pytest.mark.parametrize("body", [b"", b"not json", b"[]", b'{"a":1,"a":2}', b'{"a":NaN}', b"\xff"])
async def test_a_signed_body_that_is_no_object_is_refused(world: World, intake: Intake, body: bytes) -> None:
    with pytest.raises(MalformedBody):
        await receive(intake, world, body)


async def test_a_body_over_the_cap_is_refused_before_its_signature(world: World, intake: Intake) -> None:
    with pytest.raises(BodyTooLarge):
        await receive(
            intake, world, b"x" * (256 * 1024 + 1), headers={"content-length": "5", "webhook-signature": "no"}
        )


@pytest.mark.parametrize(("size", "elsewhere"), [(1_000, False), (200_000, True)])
async def test_a_large_body_does_not_hold_up_the_event_loop(
    world: World, intake: Intake, size: int, elsewhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    read = Standard.read

    def noted(scheme: Standard, request: WebhookRequest, trust: Trust[Options]) -> tuple[WebhookEvent, ...]:
        threads.append(threading.get_ident())
        return read(scheme, request, trust)

    monkeypatch.setattr(Standard, "read", noted)
    await receive(intake, world, note("x" * size))
    assert (threads[0] != threading.get_ident()) is elsewhere


async def test_a_stale_request_is_refused(world: World, intake: Intake) -> None:
    request = webhook(world, note())
    world.clock.advance(301)
    with pytest.raises(StaleTimestamp):
        await intake.receive(SOURCE, request)


async def test_an_unknown_source_is_refused(world: World, intake: Intake) -> None:
    with pytest.raises(UnknownSource):
        await intake.receive("elsewhere", webhook(world, note()))


async def test_a_source_without_a_secret_is_our_own_fault(world: World, services: Services) -> None:
    with pytest.raises(SourceNotConfigured):
        await receive(build_intake(services, {}), world)


async def test_a_trace_context_of_the_standards_form_travels_along(world: World, intake: Intake) -> None:
    good = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    await receive(intake, world, headers={"traceparent": good})
    assert world.bus.sent[0].message.traceparent == good
    await receive(intake, world, event_id="evt_2", headers={"traceparent": "00-secret-" + "b" * 16 + "-01"})
    assert world.bus.sent[1].message.traceparent is None


async def test_personal_ids_are_not_stored(world: World, intake: Intake) -> None:
    document = note() | {"data": {"text": "Hello.", "user": "ada@example.com"}}
    await receive(intake, world, document, event_id="wamid.HBgLMTU1NTU1NTU1NTUV")
    (job,) = world.jobs.all_jobs()
    assert "@" not in repr((job.user_id, job.event_id))
    assert "wamid" not in repr(job) + repr(world.bus.sent)


@pytest.mark.parametrize(("users", "kept"), [(None, True), (Users.IDS, True), (Users.NUMBERS, False)])
async def test_a_number_is_hashed_where_the_source_says_that_users_are_numbers(
    world: World, users: Users | None, kept: bool
) -> None:
    policies = pipeline()
    source = replace(policies.sources[SOURCE], users=users)
    services = build_services(world, pipeline=replace(policies, sources={SOURCE: source}))
    document = note() | {"data": {"text": "Hello.", "user": "16505551234"}}
    await receive(build_intake(services), world, document)
    (job,) = world.jobs.all_jobs()
    assert ("16505551234" in repr(job)) is kept
