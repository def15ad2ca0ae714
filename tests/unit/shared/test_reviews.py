"""Reviews: withheld until approved, announced then, and one verdict for good."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.deadletters.decisions import Decision
from shared.deadletters.refusals import ChangedMeanwhile, IdempotencyKeyReused, Refusal
from shared.errors import Conflict
from shared.failpoints import Point
from shared.jobs import Job, JobState, Review
from shared.ports import RowKind
from shared.reviews import AlreadyReviewed, JobNotFound, NoReview, ResultGone, review
from shared.services import Services
from shared.sweep import Sweep
from tests.support.application import build_services, new_job
from tests.support.cases import snapshot_of
from tests.support.fakes import World
from tests.support.kills import killed_at
from tests.support.notify import telling_pipeline
from tests.support.pending_results import DECISION, KEYED, VERDICTS, pending_job, run_messages


@pytest.fixture
def services(world: World) -> Services:
    return build_services(world, pipeline=telling_pipeline())


async def events(world: World, job: Job) -> list[str]:
    return [row.data["event"] for row in await world.jobs.rows(job.job_id, RowKind.TIMELINE)]


async def test_an_approval_has_the_success_announced_by_a_message(world: World, services: Services) -> None:
    job = await pending_job(world)
    await review(services, job.job_id, DECISION, Review.APPROVED)
    assert world.jobs.job(job.job_id).review is Review.APPROVED
    assert world.notifier.tellings == [], "a request must not wait for a receiver"
    await run_messages(services, world)
    assert world.notifier.ids() == [f"{job.job_id}-0-succeeded"]
    assert await events(world, job) == ["approved", "notified"]
    world.clock.advance(timedelta(minutes=3))
    await Sweep(services).run()
    assert world.open.keys() == set()


async def test_a_rejection_is_announced_to_nobody(world: World, services: Services) -> None:
    job = await pending_job(world)
    await review(services, job.job_id, DECISION, Review.REJECTED)
    assert (world.bus.sent, world.open.keys()) == ([], set())
    assert await world.jobs.rows(job.job_id, RowKind.OUTBOX) == []
    assert await events(world, job) == ["rejected"]


@pytest.mark.parametrize("verdict", VERDICTS)
async def test_the_verdict_is_kept_with_operator_and_reason(
    world: World, services: Services, verdict: Review
) -> None:
    job = await pending_job(world)
    await review(services, job.job_id, KEYED, verdict)
    [row] = await world.jobs.rows(job.job_id, RowKind.DECISION)
    assert row.data["action"] == {Review.APPROVED: "approve", Review.REJECTED: "reject"}[verdict]
    assert (row.data["operator"], row.data["reason"]) == (DECISION.operator, DECISION.reason)


@pytest.mark.parametrize("decision", [DECISION, KEYED])
@pytest.mark.parametrize("verdict", VERDICTS)
async def test_a_repeat_changes_nothing(
    world: World, services: Services, decision: Decision, verdict: Review
) -> None:
    job = await pending_job(world)
    await review(services, job.job_id, decision, verdict)
    await run_messages(services, world)
    before = world.jobs.job(job.job_id)
    for other in (decision, replace(decision, operator="grace", idempotency_key=None)):
        await review(services, job.job_id, other, verdict)
    await run_messages(services, world)
    assert world.jobs.job(job.job_id) == before
    assert len(world.notifier.tellings) == (verdict is Review.APPROVED)
    assert len(await world.jobs.rows(job.job_id, RowKind.DECISION)) == 1


@pytest.mark.parametrize(("first", "second"), [VERDICTS, VERDICTS[::-1]])
async def test_the_first_verdict_stands(
    world: World, services: Services, first: Review, second: Review
) -> None:
    job = await pending_job(world)
    await review(services, job.job_id, KEYED, first)
    with pytest.raises(AlreadyReviewed):
        await review(services, job.job_id, DECISION, second)
    with pytest.raises(IdempotencyKeyReused):
        await review(services, job.job_id, KEYED, second)
    assert world.jobs.job(job.job_id).review is first


@pytest.mark.parametrize(
    ("job", "refusal"),
    [
        ({"review": None}, NoReview),
        ({"review": None, "state": JobState.RUNNING, "result": None}, NoReview),
        ({"result_gone": True}, ResultGone),
    ],
)
async def test_what_cannot_be_approved_is_refused(
    world: World, services: Services, job: dict[str, Any], refusal: type[Refusal]
) -> None:
    stored = await pending_job(world, **job)
    with pytest.raises(refusal):
        await review(services, stored.job_id, DECISION, Review.APPROVED)
    assert world.jobs.job(stored.job_id) == stored


async def test_what_is_no_longer_stored_can_only_be_rejected(world: World, services: Services) -> None:
    job = await pending_job(world)
    await world.blobs.delete_below("results/a/")
    with pytest.raises(ResultGone):
        await review(services, job.job_id, DECISION, Review.APPROVED)
    assert world.jobs.job(job.job_id) == job
    await review(services, job.job_id, DECISION, Review.REJECTED)
    assert world.jobs.job(job.job_id).review is Review.REJECTED


async def test_an_unknown_job_is_not_found(world: World, services: Services) -> None:
    with pytest.raises(JobNotFound):
        await review(services, new_job(world).job_id, DECISION, Review.APPROVED)


@pytest.mark.parametrize(
    "point",
    [Point.REVIEW_BEFORE_BATCH, Point.REVIEW_AFTER_BATCH, Point.NOTIFY_AFTER_NUDGE, Point.REVIEW_AFTER_NUDGE],
)
async def test_a_kill_is_made_good_by_the_sweep_or_the_operators_repeat(
    world: World, services: Services, point: Point
) -> None:
    job = await pending_job(world)
    async with killed_at(point):
        await review(services, job.job_id, DECISION, Review.APPROVED)
    if world.jobs.job(job.job_id).review is Review.PENDING:
        await review(services, job.job_id, DECISION, Review.APPROVED)
    for _ in range(2):
        world.clock.advance(timedelta(minutes=3))
        await Sweep(services).run()
        await run_messages(services, world)
    assert world.notifier.ids() == [f"{job.job_id}-0-succeeded"]
    assert world.open.keys() == set()


async def test_a_worker_that_finishes_late_does_not_keep_an_approval_from_being_announced(
    world: World, services: Services
) -> None:
    job = await pending_job(world)
    async with killed_at(Point.REVIEW_AFTER_BATCH):
        await review(services, job.job_id, DECISION, Review.APPROVED)
    await world.open.remove(job.job_id, job.release)  # the last step of the worker that had the job
    world.clock.advance(timedelta(minutes=3))
    await Sweep(services).run()
    await run_messages(services, world)
    assert world.notifier.ids() == [f"{job.job_id}-0-succeeded"]


async def test_while_the_bus_is_away_the_sweep_sees_to_the_announcement(
    world: World, services: Services
) -> None:
    job = await pending_job(world)
    world.bus.down = True
    await review(services, job.job_id, DECISION, Review.APPROVED)
    world.bus.down = False
    world.clock.advance(timedelta(minutes=3))
    await Sweep(services).run()
    await run_messages(services, world)
    assert len(world.notifier.tellings) == 1


async def test_of_two_at_once_one_verdict_is_written(world: World, services: Services) -> None:
    job = await pending_job(world)

    async def other() -> None:
        await review(services, job.job_id, replace(DECISION, operator="grace"), Review.REJECTED)

    world.jobs.before("commit", other)
    with pytest.raises(ChangedMeanwhile):
        await review(services, job.job_id, DECISION, Review.APPROVED)
    assert world.jobs.job(job.job_id).review is Review.REJECTED


async def test_a_lost_answer_of_our_own_write_is_no_conflict(world: World, services: Services) -> None:
    job = await pending_job(world)
    world.jobs.fail_next("commit", Conflict("its answer was lost"), after=True)
    await review(services, job.job_id, DECISION, Review.APPROVED)
    assert world.jobs.job(job.job_id).review is Review.APPROVED
    assert (await snapshot_of(world, job.job_id)).job.claim == job.claim
