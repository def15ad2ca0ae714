"""Commits under a claim: lost answers, conflicts, outages."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.errors import ClaimLost, StorageUnavailable
from shared.jobs import Job, JobState, Lease
from shared.ports import Row, RowKind, Snapshot
from shared.worker.claims import Claim, commit_under_claim, outlast_outage
from tests.support.application import build_services, new_job, store
from tests.support.fakes import World

ROWS = [Row(kind=RowKind.TIMELINE, key="1", data={"event": "succeeded"})]


async def claimed(world: World) -> Snapshot:
    lease = Lease(token="mine", until=world.clock.now() + timedelta(seconds=90))
    job = await store(world, new_job(world, state=JobState.RUNNING, claim=1, lease=lease))
    snapshot = await world.jobs.load(job.job_id)
    assert snapshot is not None
    return snapshot


async def commit(world: World, snapshot: Snapshot) -> Snapshot | None:
    def change(current: Job) -> Job:
        return current.moved(JobState.SUCCEEDED, world.clock.now(), lease=None)

    until = world.clock.now() + timedelta(seconds=60)
    return await commit_under_claim(build_services(world), snapshot, change, ROWS, until)


async def test_an_outcome_is_written_with_its_rows(world: World) -> None:
    snapshot = await claimed(world)
    assert await commit(world, snapshot) is not None
    assert world.jobs.job(snapshot.job.job_id).state is JobState.SUCCEEDED
    assert await world.jobs.row(snapshot.job.job_id, RowKind.TIMELINE, "1") is not None


async def test_a_lost_answer_is_recognised_as_our_own_commit(world: World) -> None:
    snapshot = await claimed(world)
    world.jobs.fail_next("commit", after=True)
    written = await commit(world, snapshot)
    assert written is not None
    assert written.job.state is JobState.SUCCEEDED
    assert world.jobs.calls.count("commit") == 2


async def test_another_claim_ends_ours_and_keeps_its_own_row(world: World) -> None:
    snapshot = await claimed(world)
    await world.jobs.commit(snapshot, replace(snapshot.job, claim=2))
    assert await commit(world, snapshot) is None
    assert world.jobs.job(snapshot.job.job_id).state is JobState.RUNNING


async def test_a_change_that_left_our_claim_is_applied_over(world: World) -> None:
    snapshot = await claimed(world)
    await world.jobs.commit(snapshot, replace(snapshot.job, user_id="other"))
    written = await commit(world, snapshot)
    assert written is not None
    assert (written.job.state, written.job.user_id) == (JobState.SUCCEEDED, "other")


async def test_another_outcome_under_our_claim_is_not_overwritten(world: World) -> None:
    snapshot = await claimed(world)
    other = snapshot.job.moved(JobState.RETRY_SCHEDULED, world.clock.now(), lease=None)
    await world.jobs.commit(snapshot, other)
    assert await commit(world, snapshot) is None
    assert world.jobs.job(snapshot.job.job_id).state is JobState.RETRY_SCHEDULED


async def test_an_outage_is_outlasted_with_growing_pauses(world: World) -> None:
    snapshot = await claimed(world)
    world.jobs.fail_next("commit", times=4)
    assert await commit(world, snapshot) is not None
    assert len(world.clock.slept) == 4
    assert world.clock.slept == sorted(world.clock.slept)


async def test_an_outage_longer_than_the_lease_is_raised_before_the_lease_ends(world: World) -> None:
    snapshot = await claimed(world)
    start = world.clock.now()
    world.storage_down()
    with pytest.raises(StorageUnavailable):
        await commit(world, snapshot)
    assert timedelta(seconds=40) < world.clock.now() - start <= timedelta(seconds=60)


async def test_no_call_is_repeated_past_its_time(world: World) -> None:
    calls = 0

    async def call() -> None:
        nonlocal calls
        calls += 1
        raise StorageUnavailable

    with pytest.raises(StorageUnavailable):
        await outlast_outage(build_services(world), call, world.clock.now())
    assert calls == 1


async def cut_off(world: World) -> Claim:
    """A claim whose write was applied, and given up before its answer came."""
    snapshot = await claimed(world)
    claim = Claim(build_services(world), snapshot, world.clock.now() + timedelta(seconds=60))
    world.jobs.fail_next("commit", TimeoutError(), after=True)
    with pytest.raises(TimeoutError):
        await claim.commit(lambda job: job.changed(world.clock.now(), open_effects=("pay",)))
    assert claim.job.open_effects == ()
    return claim


async def test_a_claim_looks_again_where_a_write_was_cut_off(world: World) -> None:
    claim = await cut_off(world)
    world.jobs.fail_next("load")
    await claim.look_again()
    assert claim.job.open_effects == ("pay",)


async def test_a_claim_that_is_sure_of_its_row_does_not_read_it(world: World) -> None:
    claim = await cut_off(world)
    await claim.look_again()
    world.jobs.calls.clear()
    await claim.look_again()
    assert world.jobs.calls == []


async def test_a_claim_that_another_took_over_meanwhile_is_lost(world: World) -> None:
    claim = await cut_off(world)
    now = await world.jobs.load(claim.job.job_id)
    assert now is not None
    await world.jobs.commit(now, replace(now.job, claim=2))
    with pytest.raises(ClaimLost):
        await claim.look_again()
