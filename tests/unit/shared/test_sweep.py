"""The sweep: each finding, its patience, and what must not stop it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.errors import Conflict, QueueUnavailable, StorageUnavailable, TransientError
from shared.failpoints import Point
from shared.finishing import finish
from shared.jobs import Job, JobState, Lease, Review
from shared.notify.notifier import NotTold
from shared.pending_reviews import PendingPage, pending_review
from shared.ports import OpenEntry, Snapshot
from shared.records import RecordUnreadable
from shared.services import Services
from shared.sweep import (
    LONGEST_ALERTING,
    LONGEST_RUN,
    File,
    Finding,
    Finish,
    Leave,
    Nudge,
    RemoveOrphan,
    Sweep,
    inspect,
    too_fresh,
)
from tests.support.application import build_services, new_job, store
from tests.support.cases import dead_job, filed_job
from tests.support.fakes import World
from tests.support.fakes.time import START
from tests.support.kills import killed_at
from tests.support.notify import succeeded_job, telling_pipeline

GRACE = timedelta(seconds=60)
MINUTE = timedelta(minutes=1)


def entry(*, release: int = 0, age: timedelta = MINUTE, **changes: Any) -> OpenEntry:
    job_id = new_job(World()).job_id
    written = OpenEntry(job_id=job_id, release=release, written_at=START - age, version="1")
    return replace(written, **changes)


def found(*, release: int = 0, age: timedelta = MINUTE, **job: Any) -> Finding:
    given = {"updated_at": START - age, **job}
    snapshot = Snapshot(job=new_job(World(), **given), version="1", read_at=START)
    return inspect(entry(release=release, age=age), snapshot, START, GRACE)


def test_a_row_is_left_alone_while_it_is_fresh() -> None:
    assert too_fresh(entry(age=timedelta(seconds=59)), START, GRACE)
    assert not too_fresh(entry(age=timedelta(seconds=60)), START, GRACE)


@pytest.mark.parametrize(("nudges", "minutes"), [(1, 2), (2, 4), (3, 8), (6, 60), (20, 60), (10_000, 60)])
def test_each_nudge_makes_the_next_one_wait_longer_up_to_an_hour(nudges: int, minutes: int) -> None:
    nudged = entry(age=timedelta(days=2), nudges=nudges, nudged_at=START - minutes * MINUTE)
    assert not too_fresh(nudged, START, GRACE)
    assert too_fresh(nudged, START - timedelta(seconds=1), GRACE)


def test_a_row_without_a_job_is_an_orphan_after_ten_minutes() -> None:
    assert inspect(entry(age=10 * MINUTE), None, START, GRACE) == Leave()
    assert inspect(entry(age=11 * MINUTE), None, START, GRACE) == RemoveOrphan()


def test_a_release_the_job_has_not_reached_is_an_orphan_after_ten_minutes() -> None:
    assert found(release=1, age=10 * MINUTE, state=JobState.DEAD) == Leave()
    assert found(release=1, age=11 * MINUTE, state=JobState.DEAD) == RemoveOrphan()


@pytest.mark.parametrize("state", [JobState.SUCCEEDED, JobState.CLOSED, JobState.CANCELLED])
def test_a_row_of_a_final_job_is_left_over(state: JobState) -> None:
    assert found(state=state) == Finish()
    assert found(release=1, state=state) == Finish()


def test_a_row_of_an_earlier_release_or_of_a_filed_case_is_left_over() -> None:
    assert found(state=JobState.QUEUED, release=0) == Nudge()
    stored = new_job(World(), release=1, updated_at=START - MINUTE)
    assert inspect(entry(), Snapshot(job=stored, version="1", read_at=START), START, GRACE) == Finish()
    assert found(state=JobState.DEAD, case_release=0) == Finish()


def test_a_dead_job_without_a_case_is_filed() -> None:
    assert found(state=JobState.DEAD) == File()


@pytest.mark.parametrize(
    "quiet",
    [
        {"updated_at": START - timedelta(seconds=59)},
        {"not_before": START - timedelta(seconds=59)},
        {"state": JobState.RUNNING, "lease": Lease(token="t", until=START - timedelta(seconds=59))},
    ],
)
def test_a_job_that_somebody_is_at_is_left_alone(quiet: dict[str, Any]) -> None:
    assert found(age=30 * MINUTE, **quiet) == Leave()


def test_a_job_with_no_live_claim_and_nothing_due_is_nudged() -> None:
    lapsed = Lease(token="t", until=START - MINUTE)
    assert found(state=JobState.RUNNING, lease=lapsed) == Nudge()
    assert found(state=JobState.RETRY_SCHEDULED, not_before=START - MINUTE) == Nudge()


async def test_a_forgotten_job_is_nudged_and_then_left_in_peace(world: World, services: Services) -> None:
    job = await store(world, new_job(world, turn=2))
    world.clock.advance(61)
    await Sweep(services).run()
    await Sweep(services).run()
    (sent,) = world.bus.sent
    assert sent.message_id.startswith(f"{job.job_id}:0:2:")
    world.clock.advance(119)
    await Sweep(services).run()
    assert len(world.bus.sent) == 1
    world.clock.advance(2)
    await Sweep(services).run()
    assert len(world.bus.accepted()) == 2


async def test_a_backlog_of_ten_hours_multiplies_no_messages(world: World, services: Services) -> None:
    await store(world, new_job(world))
    for _ in range(600):
        world.clock.advance(60)
        await Sweep(services).run()
    assert len(world.bus.sent) <= 15


async def test_a_kill_after_the_nudge_nudges_once_more_at_worst(world: World, services: Services) -> None:
    await store(world, new_job(world))
    world.clock.advance(61)
    async with killed_at(Point.SWEEP_AFTER_NUDGE):
        await Sweep(services).run()
    await Sweep(services).run()
    await Sweep(services).run()
    assert len(world.bus.sent) == 2


async def test_a_dead_job_is_filed_and_leaves_the_index(world: World, services: Services) -> None:
    job = await dead_job(world)
    world.clock.advance(61)
    await Sweep(services).run()
    assert world.cases.all_cases()[0].job_id == job.job_id
    assert world.open.keys() == set()


async def test_an_orphan_that_was_written_again_meanwhile_stays(world: World, services: Services) -> None:
    await world.open.put("job_" + "a" * 26, 0)
    world.clock.advance(700)

    async def rewritten() -> None:
        await world.open.put("job_" + "a" * 26, 0)

    world.open.before("remove", rewritten)
    await Sweep(services).run()
    assert len(world.open.keys()) == 1


async def _three(world: World) -> list[Job]:
    jobs = [await store(world, new_job(world, f"evt_{number}")) for number in range(3)]
    world.clock.advance(61)
    return jobs


async def test_a_long_sweep_ends_in_time_and_the_next_one_goes_on(world: World, services: Services) -> None:
    jobs = await _three(world)

    async def slow() -> None:
        world.clock.advance(LONGEST_RUN + timedelta(seconds=1))

    world.jobs.before("load", slow)
    await Sweep(services).run()
    assert (len(world.bus.sent), world.telemetry.counted("sweeps_cut_short")) == (1, 1)
    await Sweep(services).run()
    assert {sent.message.job_id for sent in world.bus.sent} == {job.job_id for job in jobs}
    assert world.telemetry.counted("sweeps_cut_short") == 1


async def test_a_job_that_changes_under_the_sweep_stops_nothing(world: World, services: Services) -> None:
    await dead_job(world, "evt_9")
    await _three(world)
    world.jobs.fail_next("commit", Conflict(), times=5)
    await Sweep(services).run()
    assert len(world.bus.sent) == 3
    assert world.telemetry.counted("sweep_failures") == 0


async def test_a_row_that_cannot_be_read_keeps_the_sweep_from_no_other(
    world: World, services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    await _three(world)
    world.jobs.fail_next("load", RecordUnreadable("another form"))
    await Sweep(services).run()
    assert len(world.bus.sent) == 2
    assert world.telemetry.counted("sweep_failures") == 1
    assert "RecordUnreadable" in caplog.text


async def test_without_the_bus_cases_are_filed_all_the_same(world: World, services: Services) -> None:
    await _three(world)
    job = await dead_job(world, "evt_9")
    world.clock.advance(61)
    world.bus.down = True
    with pytest.raises(QueueUnavailable):
        await Sweep(services).run()
    assert [case.job_id for case in world.cases.all_cases()] == [job.job_id]
    assert world.bus.calls == ["send"]


async def test_a_storage_outage_is_raised(world: World, services: Services) -> None:
    await _three(world)
    world.jobs.down = True
    with pytest.raises(StorageUnavailable):
        await Sweep(services).run()


async def test_an_alert_that_was_not_confirmed_is_sent_again(world: World, services: Services) -> None:
    world.alerts.fail_next("notify", TransientError())
    await filed_job(services, world)
    await Sweep(services).run()
    assert world.alerts.alerts == []
    world.clock.advance(61)
    await Sweep(services).run()
    await Sweep(services).run()
    assert [alert.count for alert in world.alerts.alerts] == [1]


async def test_slow_alerts_do_not_make_a_sweep_last(world: World, services: Services) -> None:
    for number in range(3):
        world.alerts.fail_next("notify", TransientError())
        await filed_job(services, world, f"evt_{number}", code=f"kind_{number}")
    world.clock.advance(61)

    async def slow() -> None:
        world.clock.advance(LONGEST_ALERTING + timedelta(seconds=1))

    world.alerts.before("notify", slow)
    await Sweep(services).run()
    assert (len(world.alerts.alerts), world.telemetry.counted("sweeps_cut_short")) == (1, 1)
    await Sweep(services).run()
    assert len(world.alerts.alerts) == 3


@pytest.mark.parametrize("state", [JobState.AWAITING_RESULT, JobState.OUTCOME_UNKNOWN])
def test_a_job_that_waits_for_the_outside_is_left_alone_until_its_time_is_well_over(state: JobState) -> None:
    for minutes, finding in ((-9, Leave()), (-0.5, Leave()), (1, Nudge())):
        due = START - minutes * MINUTE
        assert found(state=state, age=timedelta(hours=1), not_before=due) == finding
    assert found(state=state, age=timedelta(hours=1), not_before=None) == Nudge()


@pytest.mark.parametrize("owed_for", [timedelta(seconds=-600), timedelta(seconds=59), timedelta(seconds=60)])
@pytest.mark.parametrize("job", [{"state": JobState.SUCCEEDED}, {"state": JobState.DEAD, "case_release": 0}])
def test_an_announcement_that_is_overdue_is_given_another_message(
    owed_for: timedelta, job: dict[str, Any]
) -> None:
    snapshot = Snapshot(job=new_job(World(), **job), version="1", read_at=START)
    finding = inspect(entry(), snapshot, START, GRACE, START - owed_for)
    assert finding == (Nudge() if owed_for >= GRACE else Leave())


async def test_a_receiver_that_is_away_for_a_day_multiplies_no_messages(world: World) -> None:
    services = build_services(world, pipeline=telling_pipeline())
    job = await succeeded_job(services, world)
    world.notifier.script = [NotTold(code="receiver_failed")] * 1000
    for _ in range(24 * 60):
        world.clock.advance(MINUTE)
        await Sweep(services).run()
        for sent in world.bus.take_due():
            await finish(services, world.jobs.job(job.job_id), sent.message.release)
    assert len(world.notifier.tellings) <= 40
    assert len(world.bus.sent) <= 60
    assert world.open.keys() == set()


async def test_a_lost_message_for_an_announcement_is_made_good(world: World) -> None:
    services = build_services(world, pipeline=telling_pipeline())
    job = await succeeded_job(services, world)
    world.clock.advance(5 * MINUTE)
    await Sweep(services).run()
    assert world.notifier.tellings == [], "the sweep must not wait for a receiver"
    [sent] = world.bus.take_due()
    await finish(services, job, sent.message.release)
    assert (len(world.notifier.tellings), world.open.keys()) == (1, set())


async def test_it_watches_the_list_of_reviews(world: World, services: Services) -> None:
    await world.reviews.put(pending_review(new_job(world, state=JobState.SUCCEEDED, review=Review.PENDING)))
    await Sweep(services).run()
    assert world.telemetry.observed("reviews_pending") == [1]
    assert await world.reviews.page(None, limit=9, cursor=None) == PendingPage(reviews=(), cursor=None)
