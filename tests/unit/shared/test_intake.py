"""From a webhook to a stored and queued job: what is kept of an event, and what is not."""

import json
from dataclasses import replace

import pytest

from shared.inputs import place_input
from shared.intake import Accepted, Ignored, Intake
from shared.jobs import JobState, job_id_for
from shared.pipeline import Users
from shared.ports import RowKind
from tests.support.application import SOURCE, build_intake, build_services, note, pipeline
from tests.support.fakes import World
from tests.unit.shared.one_event import DOCUMENT, JOB_ID, receive


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
