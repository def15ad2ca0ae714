"""Delivering what is owed: once where it works, patiently where not, and never at the job's cost."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.errors import StorageUnavailable
from shared.failpoints import Point, install
from shared.jobs import Job, JobState
from shared.notify.announcement import Announcement, OutboxState
from shared.notify.delivery import Delivered, Delivery, GivenUp, NothingOwed, TryAgain, deliver
from shared.notify.notifier import Attempt, NoRoom, NotTold, Told
from shared.notify.outbox import outbox_key
from shared.notify.timing import POST_TIMEOUT, POSTING_LEASE
from shared.ports import RowKind
from shared.records import from_text
from shared.services import Services
from tests.support.application import SOURCE, build_services
from tests.support.fakes import World
from tests.support.kills import killed_at
from tests.support.notify import RECEIVER, succeeded_job, telling_pipeline

DOWN = NotTold(code="receiver_failed")
GONE = NotTold(code="receiver_gone", for_good=True)


@pytest.fixture
def services(world: World) -> Services:
    return build_services(world, pipeline=telling_pipeline())


async def kept(world: World, job: Job) -> Announcement:
    row = await world.jobs.row(job.job_id, RowKind.OUTBOX, outbox_key(job.release))
    assert row is not None
    return from_text(Announcement, json.dumps(dict(row.data)))


async def events(world: World, job: Job) -> list[str]:
    return [row.data["event"] for row in await world.jobs.rows(job.job_id, RowKind.TIMELINE)]


async def test_what_is_owed_is_told_once(world: World, services: Services) -> None:
    job = await succeeded_job(services, world)
    assert await deliver(services, job) == Delivered()
    assert await deliver(services, job) == NothingOwed()
    [telling] = world.notifier.tellings
    assert (telling.source, telling.policy.url) == (SOURCE, RECEIVER)
    assert (await kept(world, job)).state is OutboxState.DELIVERED
    assert await events(world, job) == ["notified"]


async def test_nothing_is_owed_where_no_one_is_told(world: World) -> None:
    services = build_services(world)
    assert await deliver(services, await succeeded_job(services, world)) == NothingOwed()


async def test_a_failure_is_tried_again_later_and_only_then(world: World, services: Services) -> None:
    job = await succeeded_job(services, world)
    world.notifier.script = [DOWN]
    world.randomness.next_fractions = [0.0]
    at = world.clock.now() + timedelta(seconds=5)
    assert await deliver(services, job) == TryAgain(at)
    assert await deliver(services, job) == TryAgain(at)
    assert len(world.notifier.tellings) == 1
    tried = await kept(world, job)
    assert (tried.attempts, tried.code, tried.due_at) == (1, "receiver_failed", at)
    world.clock.advance(5)
    assert await deliver(services, job) == Delivered()
    assert len(set(world.notifier.ids())) == 1


async def test_the_receivers_wish_to_wait_is_granted(world: World, services: Services) -> None:
    job = await succeeded_job(services, world)
    world.notifier.script = [replace(DOWN, retry_after=timedelta(seconds=90))]
    world.randomness.next_fractions = [0.0]
    assert await deliver(services, job) == TryAgain(world.clock.now() + timedelta(seconds=90))


async def test_finding_no_room_is_no_failed_attempt(world: World, services: Services) -> None:
    job = await succeeded_job(services, world)
    world.notifier.script = [NoRoom()] * 3
    for _ in range(3):
        again = await deliver(services, job)
        assert isinstance(again, TryAgain)
        world.clock.advance(again.at - world.clock.now())
    put_off = await kept(world, job)
    assert (put_off.attempts, put_off.put_offs) == (0, 3)


async def test_finding_no_room_for_a_day_ends_too(world: World, services: Services) -> None:
    job = await succeeded_job(services, world)
    world.notifier.script = [NoRoom()] * 1000
    while isinstance(again := await deliver(services, job), TryAgain):
        world.clock.advance(again.at - world.clock.now())
    assert again == GivenUp()
    assert (await kept(world, job)).code == "receiver_busy"
    assert len(world.notifier.tellings) < 200


async def test_after_a_day_it_is_given_up_and_the_job_is_none_the_worse(
    world: World, services: Services
) -> None:
    job = await succeeded_job(services, world)
    world.notifier.script = [DOWN] * 100
    began = world.clock.now()
    while isinstance(again := await deliver(services, job), TryAgain):
        world.clock.advance(again.at - world.clock.now())
    assert again == GivenUp()
    assert timedelta(hours=21) < world.clock.now() - began <= timedelta(days=1)
    assert 20 <= len(world.notifier.tellings) <= 40
    assert (await kept(world, job)).state is OutboxState.GIVEN_UP
    assert await events(world, job) == ["notification_given_up"]
    assert world.jobs.job(job.job_id).state is JobState.SUCCEEDED
    assert await deliver(services, job) == NothingOwed()


async def test_a_receiver_that_is_gone_is_not_asked_again(world: World, services: Services) -> None:
    job = await succeeded_job(services, world)
    world.notifier.script = [GONE]
    assert await deliver(services, job) == GivenUp()
    [row] = await world.jobs.rows(job.job_id, RowKind.TIMELINE)
    assert row.data["code"] == "receiver_gone"


@pytest.mark.parametrize(
    ("point", "tellings"),
    [
        (Point.NOTIFY_BEFORE_POST, 1),
        (Point.NOTIFY_AFTER_POST, 2),
        (Point.NOTIFY_AFTER_TIMELINE, 2),
        (Point.NOTIFY_AFTER_SETTLED, 1),
    ],
)
async def test_a_kill_costs_at_most_a_repeat_with_the_same_id(
    world: World, services: Services, point: Point, tellings: int
) -> None:
    job = await succeeded_job(services, world)
    async with killed_at(point):
        await deliver(services, job)
    world.clock.advance(POSTING_LEASE)
    await deliver(services, job)
    assert len(world.notifier.tellings) == tellings
    assert len(set(world.notifier.ids())) == 1
    assert (await kept(world, job)).state is OutboxState.DELIVERED


async def test_an_outage_of_storage_afterwards_leaves_it_owed(world: World, services: Services) -> None:
    job = await succeeded_job(services, world)
    world.jobs.fail_next("add_row")
    with pytest.raises(StorageUnavailable):
        await deliver(services, job)
    world.clock.advance(POSTING_LEASE)
    assert await deliver(services, job) == Delivered()
    assert len(world.notifier.tellings) == 2


@pytest.mark.parametrize("failed", [DOWN, NoRoom(), GONE])
@pytest.mark.parametrize(("other", "settled"), [(Told(), Delivered()), (GONE, GivenUp())])
async def test_a_failed_attempt_takes_nothing_back_of_what_another_settled_meanwhile(
    world: World, services: Services, failed: Attempt, other: Attempt, settled: Delivery
) -> None:
    job = await succeeded_job(services, world)
    world.notifier.script = [failed, other]
    overlapping: list[Delivery] = []

    async def deliver_beside(point: str) -> None:
        if point == Point.NOTIFY_AFTER_POST.value:
            install(None)
            world.clock.advance(POSTING_LEASE)
            overlapping.append(await deliver(services, job))

    install(deliver_beside)
    try:
        assert await deliver(services, job) == NothingOwed()
    finally:
        install(None)
    assert overlapping == [settled]
    assert len(await events(world, job)) == 1
    world.clock.advance(3600)
    assert await deliver(services, job) == NothingOwed()
    assert len(world.notifier.tellings) == 2


async def test_after_a_day_of_failures_it_is_not_given_up_where_another_has_delivered_it(
    world: World, services: Services
) -> None:
    job = await succeeded_job(services, world)
    world.clock.advance(timedelta(hours=25).total_seconds())
    world.notifier.script = [DOWN]

    async def told_beside(point: str) -> None:
        if point == Point.NOTIFY_AFTER_POST.value:
            install(None)
            world.clock.advance(POSTING_LEASE)
            assert await deliver(services, job) == Delivered()

    install(told_beside)
    try:
        assert await deliver(services, job) == NothingOwed()
    finally:
        install(None)
    assert (await kept(world, job)).state is OutboxState.DELIVERED


@pytest.mark.parametrize("outcome", [Told(), DOWN, NoRoom(), GONE])
async def test_of_two_deliveries_at_once_one_posts_and_the_other_comes_again(
    world: World, services: Services, outcome: Attempt
) -> None:
    job = await succeeded_job(services, world)
    world.notifier.script = [outcome]
    over = world.clock.now() + POSTING_LEASE
    overlapping: list[Delivery] = []

    async def deliver_beside(point: str) -> None:
        if point == Point.NOTIFY_BEFORE_POST.value:
            overlapping.append(await deliver(services, job))

    install(deliver_beside)
    try:
        await deliver(services, job)
    finally:
        install(None)
    assert overlapping == [TryAgain(over)]
    assert len(world.notifier.tellings) == 1


async def test_of_two_that_read_the_same_row_one_posts(world: World, services: Services) -> None:
    job = await succeeded_job(services, world)
    outcomes = await asyncio.gather(*(deliver(services, job) for _ in range(5)))
    assert outcomes.count(Delivered()) == 1
    assert len(world.notifier.tellings) == 1


async def test_what_another_settled_before_the_announcement_was_taken_is_not_told_again(
    world: World, services: Services
) -> None:
    job = await succeeded_job(services, world)

    async def deliver_first() -> None:
        assert await deliver(services, job) == Delivered()

    world.jobs.before("replace_row", deliver_first)
    assert await deliver(services, job) == NothingOwed()
    assert len(world.notifier.tellings) == 1


async def test_one_that_was_held_up_until_its_post_could_overlap_does_not_post(
    world: World, services: Services
) -> None:
    job = await succeeded_job(services, world)
    over = world.clock.now() + POSTING_LEASE

    async def hold_up() -> None:
        world.clock.advance(POSTING_LEASE - POST_TIMEOUT)

    world.jobs.before("replace_row", hold_up)
    assert await deliver(services, job) == TryAgain(over)
    assert world.notifier.tellings == []


async def test_a_failed_attempt_lets_the_announcement_go(world: World, services: Services) -> None:
    job = await succeeded_job(services, world)
    world.notifier.script = [DOWN]
    await deliver(services, job)
    tried = await kept(world, job)
    assert (tried.posting_by, tried.posting_until) == (None, None)
