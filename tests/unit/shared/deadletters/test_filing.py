"""Filing a case: once, by whoever, and never over what came later."""

from shared.deadletters.close import close
from shared.deadletters.decisions import Decision
from shared.deadletters.filing import file_case
from shared.deadletters.ports import CaseState
from shared.deadletters.resubmit import Resubmission, resubmit
from shared.failpoints import Point
from shared.jobs import JobState
from tests.support.application import BACKOFF, build_services
from tests.support.cases import dead_job, filed_job, snapshot_of
from tests.support.fakes import World
from tests.support.kills import killed_at

DECISION = Decision(operator="ada", reason="seen")


async def test_filing_twice_gives_one_case_one_count_and_one_alert() -> None:
    world = World()
    services = build_services(world)
    job = await dead_job(world)
    early = await snapshot_of(world, job.job_id)
    await file_case(services, early)
    await file_case(services, early)
    await file_case(services, await snapshot_of(world, job.job_id))
    assert len(world.cases.all_cases()) == 1
    group = world.groups.group("summarize_document.document_missing")
    assert group is not None
    assert (group.count, group.alerted) == (1, True)
    assert world.telemetry.counted("cases_filed") == 1
    assert len(world.alerts.alerts) == 1
    assert world.jobs.job(job.job_id).case_release == 0


async def test_only_the_first_of_a_kind_alerts_and_the_alert_holds_nothing_private() -> None:
    world = World()
    services = build_services(world)
    await filed_job(services, world, "evt_1", user_id="MARKED")
    await filed_job(services, world, "evt_2")
    await filed_job(services, world, "evt_3", code="encrypted")
    assert [alert.code for alert in world.alerts.alerts] == ["document_missing", "encrypted"]
    assert "MARKED" not in repr(world.alerts.alerts)


async def test_a_filing_that_comes_after_a_resubmit_changes_nothing() -> None:
    world = World()
    services = build_services(world)
    job = await dead_job(world)
    late = await snapshot_of(world, job.job_id)
    await file_case(services, late)
    await resubmit(services, job.job_id, DECISION, Resubmission())
    await file_case(services, late)
    (case,) = world.cases.all_cases()
    assert case.state is CaseState.RESUBMITTED
    assert world.open.keys() == {(job.job_id, 1)}


async def test_a_late_filing_takes_no_guard_from_a_close_that_died() -> None:
    world = World()
    services = build_services(world)
    job = await dead_job(world)
    late = await snapshot_of(world, job.job_id)
    await file_case(services, late)
    async with killed_at(Point.CLOSE_AFTER_BATCH):
        await close(services, job.job_id, DECISION)
    await file_case(services, late)
    assert world.open.keys() == {(job.job_id, 1)}


async def test_a_second_death_files_a_second_case_and_settles_the_first() -> None:
    world = World()
    services = build_services(world)
    job = await filed_job(services, world)
    async with killed_at(Point.RESUBMIT_AFTER_SEND):
        await resubmit(services, job.job_id, DECISION, Resubmission())
    world.clock.advance(BACKOFF)
    snapshot = await snapshot_of(world, job.job_id)
    again = snapshot.job.moved(JobState.DEAD, world.clock.now(), failure=job.failure)
    await file_case(services, await world.jobs.commit(snapshot, again))
    states = {case.release: case.state for case in world.cases.all_cases()}
    assert states == {0: CaseState.RESUBMITTED, 1: CaseState.OPEN}
    assert world.open.keys() == set()
