"""Resubmitting with another input: a document that is there, or new content."""

import pytest

from shared.deadletters.refusals import InputRefused
from shared.deadletters.resubmit import Resubmission, resubmit
from shared.inputs import place_input
from shared.jobs import JobState
from shared.ports import RowKind
from shared.services import Services
from tests.support.cases import filed_job
from tests.support.fakes import World
from tests.unit.shared.deadletters.resubmitting import DECISION, again, refused


@pytest.mark.parametrize(
    "ref",
    [
        "nothing",
        "inputs/../secrets/a",
        "inputs/other/a.txt",
        "inputs/documents/absent.txt",
        "protected/unreadable/msg_1/a",
        "inline/{job_id}/../" + "a" * 64,
        "inputs/{job_id}/" + "a" * 64,
        "inline/{job_id}/" + "a" * 64,
    ],
)
async def test_an_input_that_cannot_be_used_is_refused(world: World, services: Services, ref: str) -> None:
    job = await filed_job(services, world)
    await refused(services, job.job_id, InputRefused, Resubmission(input_ref=ref.format(job_id=job.job_id)))
    assert world.jobs.job(job.job_id).state is JobState.DEAD


async def test_a_better_document_replaces_the_input(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    world.blobs.put_now("inputs/documents/better.txt", b"Better.")
    await resubmit(services, job.job_id, DECISION, Resubmission(input_ref="inputs/documents/better.txt"))
    assert world.jobs.job(job.job_id).input_ref == "inputs/documents/better.txt"
    (decision,) = await world.jobs.rows(job.job_id, RowKind.DECISION)
    assert decision.data["earlier_input_ref"] == job.input_ref
    timeline = await world.jobs.rows(job.job_id, RowKind.TIMELINE)
    (changed,) = [row for row in timeline if row.data["event"] == "input_changed"]
    assert changed.data["note"] == f"by ada: inputs/documents/better.txt instead of {job.input_ref}"


async def test_the_same_input_is_no_change(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    await again(services, job)
    events = [row.data["event"] for row in await world.jobs.rows(job.job_id, RowKind.TIMELINE)]
    assert "input_changed" not in events
    assert "resubmitted" in events


@pytest.mark.parametrize("size", [20, 40_000])
async def test_a_new_input_is_stored_and_can_be_named_again(
    world: World, services: Services, size: int
) -> None:
    job = await filed_job(services, world)
    content = b"x" * size
    await resubmit(services, job.job_id, DECISION, Resubmission(content=content))
    ref = world.jobs.job(job.job_id).input_ref
    assert ref == place_input(job.job_id, content).ref
    second = await filed_job(services, world, "evt_2")
    await refused(services, second.job_id, InputRefused, Resubmission(input_ref=ref))
