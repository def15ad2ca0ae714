"""Cancelling: at once for a job that waits, by a flag for one that runs."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.cancel import Cancellation, Cancelling, cancel
from shared.deadletters.refusals import (
    AlreadyDone,
    ChangedMeanwhile,
    CloseInstead,
    IdempotencyKeyReused,
    Refusal,
)
from shared.errors import Conflict, StorageUnavailable
from shared.failpoints import Point
from shared.jobs import Job, JobState, Lease
from shared.messages import JobMessage
from shared.ports import RowKind
from shared.services import Services
from shared.sweep import Sweep
from shared.worker.run import Worker
from tests.support.application import new_job, store
from tests.support.cases import dead_job, snapshot_of
from tests.support.fakes import World
from tests.support.kills import killed_at

WANTED = Cancellation(reason="Sent by mistake.", operator="ada")
KEYED = replace(WANTED, idempotency_key="key-1")
WAITING = [JobState.QUEUED, JobState.RETRY_SCHEDULED, JobState.AWAITING_RESULT, JobState.OUTCOME_UNKNOWN]


async def ask(services: Services, world: World, job: Job, wanted: Cancellation = WANTED) -> Cancelling:
    return await cancel(services, await snapshot_of(world, job.job_id), wanted)


async def running(world: World, **changes: Any) -> Job:
    lease = Lease(token="t", until=world.clock.now() + timedelta(seconds=40))
    return await store(world, new_job(world, state=JobState.RUNNING, claim=3, lease=lease, **changes))


async def timeline(world: World, job: Job, event: str) -> Mapping[str, Any]:
    rows = await world.jobs.rows(job.job_id, RowKind.TIMELINE)
    (found,) = [row.data for row in rows if row.data["event"] == event]
    return found


@pytest.mark.parametrize("state", WAITING)
async def test_a_job_that_waits_is_cancelled_at_once(
    world: World, services: Services, state: JobState
) -> None:
    later = world.clock.now() + timedelta(minutes=5)
    job = await store(world, new_job(world, state=state, claim=2, not_before=later))
    assert await ask(services, world, job) is Cancelling.CANCELLED
    now = world.jobs.job(job.job_id)
    assert (now.state, now.claim, now.lease, now.not_before) == (JobState.CANCELLED, 3, None, None)
    assert world.open.keys() == set()
    (decision,) = await world.jobs.rows(job.job_id, RowKind.DECISION)
    assert (decision.data["action"], decision.data["operator"]) == ("cancel", "ada")
    assert decision.data["reason"] == WANTED.reason


async def test_the_message_of_a_cancelled_job_does_nothing(world: World, services: Services) -> None:
    job = await store(world, new_job(world))
    await ask(services, world, job)
    message = JobMessage.for_job(job)
    await Worker(services).handle(message.body(), message.properties(), None)
    assert world.jobs.job(job.job_id).state is JobState.CANCELLED
    assert world.bus.sent == []


@pytest.mark.parametrize(
    ("state", "note"),
    [
        (JobState.AWAITING_RESULT, "The outside may still finish it; nobody will fetch it."),
        (JobState.QUEUED, None),
    ],
)
async def test_the_timeline_names_what_the_outside_may_still_do(
    world: World, services: Services, state: JobState, note: str | None
) -> None:
    job = await store(world, new_job(world, state=state))
    await ask(services, world, job)
    assert (await timeline(world, job, "cancelled")).get("note") == note


@pytest.mark.parametrize("state", [JobState.OUTCOME_UNKNOWN, JobState.RETRY_SCHEDULED])
async def test_a_waiting_job_whose_outcome_is_unknown_gets_a_flag_until_it_is_known(
    world: World, services: Services, state: JobState
) -> None:
    job = await store(world, new_job(world, state=state, open_effects=("submit",)))
    assert await ask(services, world, job) is Cancelling.REQUESTED
    now = world.jobs.job(job.job_id)
    assert (now.state, now.cancel_requested, now.open_effects) == (state, True, ("submit",))
    assert world.open.keys() == {(job.job_id, 0)}


async def test_a_running_job_gets_a_flag_and_keeps_its_claim(world: World, services: Services) -> None:
    job = await running(world, open_effects=("submit",))
    assert await ask(services, world, job) is Cancelling.REQUESTED
    now = world.jobs.job(job.job_id)
    assert (now.state, now.claim, now.lease, now.cancel_requested) == (JobState.RUNNING, 3, job.lease, True)
    assert now.open_effects == ("submit",)
    assert world.open.keys() == {(job.job_id, 0)}
    await timeline(world, job, "cancel_requested")
    assert len(await world.jobs.rows(job.job_id, RowKind.DECISION)) == 1


async def test_asking_twice_writes_once(world: World, services: Services) -> None:
    job = await running(world)
    await ask(services, world, job)
    stored = world.jobs.job(job.job_id)
    again = replace(WANTED, operator="grace", reason="Me too.")
    assert await ask(services, world, job, again) is Cancelling.REQUESTED
    assert world.jobs.job(job.job_id) == stored
    (decision,) = await world.jobs.rows(job.job_id, RowKind.DECISION)
    assert decision.data["operator"] == "ada"


async def test_the_first_decision_stands_when_a_flagged_job_came_to_wait(
    world: World, services: Services
) -> None:
    job = await running(world)
    await ask(services, world, job)
    snapshot = await snapshot_of(world, job.job_id)
    back = snapshot.job.moved(JobState.RETRY_SCHEDULED, world.clock.now(), lease=None)
    await world.jobs.commit(snapshot, back)
    assert await ask(services, world, job, replace(WANTED, operator="grace")) is Cancelling.CANCELLED
    (decision,) = await world.jobs.rows(job.job_id, RowKind.DECISION)
    assert decision.data["operator"] == "ada"


async def test_a_cancelled_job_answers_the_same_again(world: World, services: Services) -> None:
    job = await store(world, new_job(world))
    for _ in range(2):
        assert await ask(services, world, job) is Cancelling.CANCELLED
    await timeline(world, job, "cancelled")


@pytest.mark.parametrize("state", [JobState.SUCCEEDED, JobState.CLOSED])
async def test_a_finished_job_is_already_done(world: World, services: Services, state: JobState) -> None:
    job = await store(world, new_job(world, state=state))
    with pytest.raises(AlreadyDone, match=state.value):
        await ask(services, world, job)


async def test_a_dead_job_is_closed_instead(world: World, services: Services) -> None:
    job = await dead_job(world)
    with pytest.raises(CloseInstead):
        await ask(services, world, job)
    assert world.jobs.job(job.job_id) == job


async def test_who_wants_it_need_not_be_known(world: World, services: Services) -> None:
    job = await store(world, new_job(world))
    await ask(services, world, job, Cancellation(reason="Out of date."))
    (decision,) = await world.jobs.rows(job.job_id, RowKind.DECISION)
    assert decision.data["operator"] is None


async def test_the_same_key_for_something_else_is_refused(world: World, services: Services) -> None:
    job = await running(world)
    await ask(services, world, job, KEYED)
    assert await ask(services, world, job, KEYED) is Cancelling.REQUESTED
    with pytest.raises(IdempotencyKeyReused):
        await ask(services, world, job, replace(KEYED, reason="Another."))


async def test_a_worker_that_claims_first_gets_the_flag(world: World, services: Services) -> None:
    job = await store(world, new_job(world))

    async def claimed() -> None:
        snapshot = await snapshot_of(world, job.job_id)
        lease = Lease(token="t", until=world.clock.now() + timedelta(seconds=40))
        claim = snapshot.job.moved(JobState.RUNNING, world.clock.now(), claim=1, lease=lease)
        await world.jobs.commit(snapshot, claim)

    world.jobs.before("commit", claimed)
    assert await ask(services, world, job) is Cancelling.REQUESTED
    now = world.jobs.job(job.job_id)
    assert (now.state, now.claim, now.cancel_requested) == (JobState.RUNNING, 1, True)


async def test_a_worker_that_finishes_first_has_the_last_word(world: World, services: Services) -> None:
    job = await running(world)

    async def finished() -> None:
        snapshot = await snapshot_of(world, job.job_id)
        await world.jobs.commit(snapshot, snapshot.job.moved(JobState.SUCCEEDED, world.clock.now()))

    world.jobs.before("commit", finished)
    with pytest.raises(AlreadyDone):
        await ask(services, world, job)


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.RUNNING])
async def test_a_commit_whose_answer_was_lost_counts_as_done(
    world: World, services: Services, state: JobState
) -> None:
    job = await store(world, new_job(world, state=state))
    world.jobs.fail_next("commit", Conflict(), after=True)
    await ask(services, world, job)
    assert len(await world.jobs.rows(job.job_id, RowKind.DECISION)) == 1


async def test_a_job_that_never_holds_still_is_to_be_looked_at_again(
    world: World, services: Services
) -> None:
    job = await store(world, new_job(world))
    for _ in range(10):
        world.jobs.fail_next("commit", Conflict())
    with pytest.raises(ChangedMeanwhile):
        await ask(services, world, job)


async def test_two_at_once_leave_one_decision(world: World, services: Services) -> None:
    job = await store(world, new_job(world))
    done = await asyncio.gather(*(ask(services, world, job, KEYED) for _ in range(2)))
    assert done == [Cancelling.CANCELLED] * 2
    assert len(await world.jobs.rows(job.job_id, RowKind.DECISION)) == 1


async def test_an_outage_is_told_and_a_repeat_makes_it_good(world: World, services: Services) -> None:
    job = await store(world, new_job(world))
    world.jobs.fail_next("commit", after=True)
    with pytest.raises(StorageUnavailable):
        await ask(services, world, job, KEYED)
    assert await ask(services, world, job, KEYED) is Cancelling.CANCELLED
    assert world.open.keys() == set()


@pytest.mark.parametrize("again", ["by a repeat", "by the sweep"])
@pytest.mark.parametrize("point", [Point.CANCEL_BEFORE_BATCH, Point.CANCEL_AFTER_BATCH])
async def test_a_kill_is_made_good(world: World, services: Services, point: Point, again: str) -> None:
    job = await store(world, new_job(world))
    async with killed_at(point):
        await ask(services, world, job)
    cancelled = point is Point.CANCEL_AFTER_BATCH
    assert (world.jobs.job(job.job_id).state is JobState.CANCELLED) is cancelled
    if again == "by a repeat":
        assert await ask(services, world, job) is Cancelling.CANCELLED
    else:
        world.clock.advance(601)
        await Sweep(services).run()
    assert world.open.keys() == (set() if cancelled or again == "by a repeat" else {(job.job_id, 0)})


async def test_a_kill_after_the_flag_leaves_it_for_the_worker(world: World, services: Services) -> None:
    job = await running(world)
    async with killed_at(Point.CANCEL_AFTER_FLAG):
        await ask(services, world, job)
    assert world.jobs.job(job.job_id).cancel_requested


@pytest.mark.parametrize("kind", [AlreadyDone, CloseInstead, ChangedMeanwhile])
def test_every_refusal_is_a_conflict(kind: type[Refusal]) -> None:
    assert kind.status == 409
