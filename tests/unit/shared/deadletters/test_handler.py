"""The dead-letter function: each message ends as a case, a nudge, or nothing left to do."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.deadletters.handler import DeadLetterHandler
from shared.deadletters.ports import CaseState
from shared.errors import QueueUnavailable, StorageUnavailable
from shared.failpoints import Point
from shared.jobs import Category, Job, JobState, Lease
from shared.messages import JobMessage
from shared.records import RecordUnreadable
from tests.support.application import build_services, new_job, store
from tests.support.cases import dead_job
from tests.support.effects import an_effect, put_effect
from tests.support.fakes import World
from tests.support.kills import killed_at
from tests.support.protocol.checks import check_settled


async def handle(world: World, job: Job, *, reason: str = "MaxDeliveryCountExceeded", **message: Any) -> None:
    sent = replace(JobMessage.for_job(job), **message)
    handler = DeadLetterHandler(build_services(world))
    await handler.handle(sent.body(), {**sent.properties(), "DeadLetterReason": reason}, 7)


async def test_a_dead_job_gets_its_case_and_leaves_the_open_index(world: World) -> None:
    job = await dead_job(world)
    await handle(world, job)
    (case,) = world.cases.all_cases()
    assert (case.job_id, case.release, case.state) == (job.job_id, 0, CaseState.OPEN)
    assert (case.code, case.fingerprint) == ("document_missing", "summarize_document.document_missing")
    await check_settled(world, {job.job_id})


async def test_an_abandoned_job_is_buried_and_filed(world: World) -> None:
    job = await store(world, new_job(world))
    await handle(world, job)
    assert world.jobs.job(job.job_id).state is JobState.DEAD
    assert world.cases.all_cases()[0].category is Category.CRASHED
    await check_settled(world, {job.job_id})


async def test_an_expired_message_is_filed_as_expired(world: World) -> None:
    job = await store(world, new_job(world))
    await handle(world, job, reason="TTLExpiredException")
    assert world.cases.all_cases()[0].category is Category.EXPIRED


async def test_a_held_job_is_nudged_for_the_end_of_its_lease(world: World) -> None:
    until = world.clock.now() + timedelta(seconds=40)
    held = new_job(world, state=JobState.RUNNING, claim=1, lease=Lease(token="t", until=until))
    job = await store(world, held)
    await handle(world, job)
    (sent,) = world.bus.sent
    assert (sent.at, sent.suffix is not None) == (until, True)
    assert world.cases.all_cases() == []


async def test_a_job_that_waits_is_nudged_for_the_end_of_its_wait(world: World) -> None:
    until = world.clock.now() + timedelta(minutes=5)
    job = await store(world, new_job(world, state=JobState.AWAITING_RESULT, turn=3, not_before=until))
    await handle(world, job)
    (sent,) = world.bus.sent
    assert (sent.at, sent.suffix is not None, sent.message.turn) == (until, True, 3)
    assert world.jobs.job(job.job_id) == job
    assert world.cases.all_cases() == []


async def test_an_abandoned_job_with_an_open_effect_is_to_be_reconciled(world: World) -> None:
    job = await store(world, new_job(world, state=JobState.RUNNING, open_effects=("submit",)))
    await put_effect(world, job, an_effect(job, "submit"))
    await handle(world, job)
    (case,) = world.cases.all_cases()
    assert (case.category, case.code) == (Category.RECONCILE, "outcome_unknown")
    assert world.jobs.job(job.job_id).open_effects == ("submit",)


async def test_a_late_message_hides_no_later_release(world: World) -> None:
    job = await store(world, new_job(world, release=1, turn=1))
    await handle(world, job, release=0, turn=0)
    assert world.open.keys() == {(job.job_id, 1)}
    assert world.jobs.job(job.job_id).state is JobState.QUEUED
    assert world.cases.all_cases() == []


@pytest.mark.parametrize(
    ("body", "code"), [(b"\xff not a message", "unreadable_message"), (b'{"schema":9}', "newer_schema")]
)
async def test_an_unreadable_message_becomes_a_case_with_its_bytes_protected(
    world: World, body: bytes, code: str
) -> None:
    handler = DeadLetterHandler(build_services(world))
    for _ in range(2):
        await handler.handle(body, {}, 7)
    (case,) = world.cases.all_cases()
    assert (case.job_id, case.code, case.category) == ("msg_7", code, Category.UNREADABLE)
    assert case.input_ref is not None
    assert case.input_ref.startswith("protected/")
    assert world.blobs.content(case.input_ref) == body
    assert "not a message" not in case.message


async def test_the_same_sequence_number_of_a_new_queue_is_another_case(world: World) -> None:
    handler = DeadLetterHandler(build_services(world))
    await handler.handle(b"first", {}, 7)
    await handler.handle(b"second", {}, 7)
    await handler.handle(b"second", {}, 7)
    first, second = world.cases.all_cases()
    assert (first.job_id, second.job_id[:6]) == ("msg_7", "msg_7_")
    assert second.input_ref is not None
    assert world.blobs.content(second.input_ref) == b"second"


async def test_a_message_of_no_job_is_kept_as_a_case(world: World) -> None:
    await handle(world, new_job(world))
    (case,) = world.cases.all_cases()
    assert (case.job_id, case.code) == ("msg_7", "no_such_job")


async def test_a_race_for_the_row_is_judged_anew(world: World) -> None:
    job = await store(world, new_job(world))

    async def claimed() -> None:
        snapshot = await world.jobs.load(job.job_id)
        assert snapshot is not None
        lease = Lease(token="t", until=world.clock.now() + timedelta(seconds=40))
        running = snapshot.job.moved(JobState.RUNNING, world.clock.now(), claim=1, lease=lease)
        await world.jobs.commit(snapshot, running)

    world.jobs.before("commit", claimed)
    await handle(world, job)
    assert world.jobs.job(job.job_id).state is JobState.RUNNING
    assert len(world.bus.sent) == 1


@pytest.mark.parametrize("away", ["storage", "bus"])
async def test_an_outage_is_waited_for_before_it_is_raised(world: World, away: str) -> None:
    lease = Lease(token="t", until=world.clock.now() + timedelta(seconds=40))
    job = await store(world, new_job(world, state=JobState.RUNNING, claim=1, lease=lease))
    world.storage_down(away == "storage")
    world.bus.down = away == "bus"
    with pytest.raises((StorageUnavailable, QueueUnavailable)):
        await handle(world, job)
    assert sum(world.clock.slept) >= 10


async def test_a_row_that_cannot_be_read_does_not_make_the_message_spin(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    job = await dead_job(world)
    world.jobs.fail_next("load", RecordUnreadable("A stored Job has another form."))
    with pytest.raises(RecordUnreadable):
        await handle(world, job)
    assert sum(world.clock.slept) >= 10
    assert "RecordUnreadable" in caplog.text


async def test_an_alert_sink_that_breaks_keeps_no_case_from_being_filed(world: World) -> None:
    job = await dead_job(world)
    world.alerts.fail_next("notify", RecordUnreadable("whatever"))
    await handle(world, job)
    assert len(world.cases.all_cases()) == 1
    assert world.telemetry.counted("alerts_failed") == 1


@pytest.mark.parametrize(
    "point",
    [
        Point.DEADLETTER_BEFORE_DEAD,
        Point.DEADLETTER_BEFORE_CASE,
        Point.CASE_AFTER_CASE_ROW,
        Point.CASE_AFTER_GROUP,
        Point.CASE_AFTER_JOB_MARKED,
        Point.DEADLETTER_AFTER_CASE,
    ],
)
async def test_a_kill_at_any_point_leaves_one_case_after_the_next_delivery(
    world: World, point: Point
) -> None:
    job = await store(world, new_job(world))
    async with killed_at(point):
        await handle(world, job)
    await handle(world, job)
    await check_settled(world, {job.job_id})
    assert len(world.cases.all_cases()) == 1
    assert len(world.alerts.alerts) == 1


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    "call", ["jobs.commit", "cases.file", "groups.add", "groups.mark_alerted", "open.remove"]
)
async def test_a_lost_call_or_answer_leaves_one_case_after_the_next_delivery(
    world: World, call: str, after: bool
) -> None:
    job = await store(world, new_job(world))
    fake, method = call.split(".")
    getattr(world, fake).fail_next(method, after=after)
    with pytest.raises(StorageUnavailable):
        await handle(world, job)
    await handle(world, job)
    await check_settled(world, {job.job_id})
