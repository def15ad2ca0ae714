"""An event that comes again, and again at the same moment: one job."""

import asyncio

from shared.intake import Accepted, Intake
from shared.jobs import JobState
from shared.ports import RowKind
from shared.services import Services
from tests.support.application import SOURCE, note
from tests.support.cases import filed_job, snapshot_of
from tests.support.fakes import World
from tests.unit.shared.one_event import JOB_ID, receive


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
