"""An attempt whose time is up while an intent is being written: nobody knows yet what the row says."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.decisions import Rules
from shared.errors import DeadLettered, TaskFailed
from shared.jobs import Category, Failure, Job, JobState, Lease
from shared.pipeline.policies import PollPolicy
from shared.worker.claims import Claim
from shared.worker.outcomes import conclude
from shared.worker.run import NO_RETRY
from tests.support.application import build_services, new_job, store
from tests.support.fakes import World

LAST_ATTEMPT = Rules(retry=NO_RETRY, poll=PollPolicy())


@pytest.fixture
async def claim(world: World) -> Claim:
    lease = Lease(token="mine", until=world.clock.now() + timedelta(seconds=90))
    job = await store(world, new_job(world, state=JobState.RUNNING, claim=1, lease=lease))
    snapshot = await world.jobs.load(job.job_id)
    assert snapshot is not None
    return Claim(build_services(world), snapshot, world.clock.now() + timedelta(seconds=60))


def intended(job: Job) -> Job:
    return replace(job, open_effects=("pay",))


async def buried(world: World, claim: Claim) -> Failure:
    with pytest.raises(DeadLettered):
        await conclude(claim, TaskFailed(), LAST_ATTEMPT)
    failure = world.jobs.job(claim.job.job_id).failure
    assert failure is not None
    return failure


async def test_an_intent_that_was_written_nevertheless_asks_for_a_reconciliation(
    world: World, claim: Claim
) -> None:
    world.jobs.fail_next("commit", TimeoutError(), after=True)
    with pytest.raises(TimeoutError):
        await claim.commit(intended)
    failure = await buried(world, claim)
    assert failure.category is Category.RECONCILE
    assert "pay" in failure.message


async def test_an_intent_that_comes_to_lie_in_storage_during_the_decision_asks_for_it_too(
    world: World, claim: Claim
) -> None:
    async def land() -> None:
        await world.jobs.commit(claim.snapshot, intended(claim.job))

    world.jobs.before("commit", land)
    assert (await buried(world, claim)).category is Category.RECONCILE


async def test_without_an_intent_the_failure_is_what_it_was(world: World, claim: Claim) -> None:
    assert (await buried(world, claim)).category is Category.MANUAL_REVIEW
