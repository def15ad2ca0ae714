"""A callback ends a wait early and changes nothing else; whatever is not this app's own changes nothing."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.callbacks import (
    SPACING,
    BadToken,
    CallbacksOff,
    CallbackTaken,
    NoSuchJob,
    NotReady,
    TokenExpired,
    callback_url_for,
    called_back,
)
from shared.errors import Conflict, QueueUnavailable
from shared.failpoints import Point
from shared.jobs import Job, JobState, Lease
from shared.messages import JobMessage
from shared.ports import RowKind
from shared.services import Services
from shared.settings import Settings
from shared.worker.admission import Admission, Claimable, NotYet, admit
from tests.support.application import build_services, new_job, store
from tests.support.cases import snapshot_of
from tests.support.fakes import World
from tests.support.kills import killed_at

BASE = "https://jobs.example.com"
SETTINGS = Settings.model_validate(
    {"PUBLIC_BASE_URL": BASE, "AFTERHOOK_CALLBACK_KEY": "an invented secret of enough length"}
)
WAITING = [JobState.AWAITING_RESULT, JobState.OUTCOME_UNKNOWN]


@pytest.fixture
def services(world: World) -> Services:
    return build_services(world, settings=SETTINGS)


async def waiting_job(
    world: World, state: JobState = JobState.AWAITING_RESULT, age: float = 60, wait: float = 600
) -> Job:
    now = world.clock.now()
    job = await store(
        world,
        new_job(world, state=state, turn=2, claim=4, not_before=now + timedelta(seconds=wait)),
    )
    world.clock.advance(age)
    return job


def token_of(services: Services, job: Job) -> str:
    url = callback_url_for(services, job)
    assert url is not None
    assert url.startswith(f"{BASE}/api/callbacks/")
    return url.rsplit("/", 1)[-1]


async def unchanged(world: World, job: Job) -> bool:
    same = world.jobs.job(job.job_id) == job and world.bus.sent == []
    return same and await world.jobs.rows(job.job_id, RowKind.TIMELINE) == []


@pytest.mark.parametrize("state", WAITING)
async def test_a_wait_ends_now(world: World, services: Services, state: JobState) -> None:
    job = await waiting_job(world, state)
    assert await called_back(services, token_of(services, job)) == CallbackTaken(hurried=True)
    now = world.jobs.job(job.job_id)
    assert (now.state, now.claim, now.not_before) == (state, job.claim, world.clock.now())
    [sent] = world.bus.take_due()
    assert (sent.message.release, sent.message.turn) == (job.release, job.turn)
    [row] = await world.jobs.rows(job.job_id, RowKind.TIMELINE)
    assert row.data["event"] == "called_back"


async def test_the_message_that_comes_then_may_run(world: World, services: Services) -> None:
    job = await waiting_job(world)

    async def admission() -> Admission:
        return admit(
            JobMessage.for_job(job),
            await snapshot_of(world, job.job_id),
            lease_token="token",
            lease_for=timedelta(seconds=60),
            worker="worker-1",
            app_version="1.2.3",
        )

    assert isinstance(await admission(), NotYet)
    await called_back(services, token_of(services, job))
    assert isinstance(await admission(), Claimable)


async def test_however_often_it_calls_one_message_comes(world: World, services: Services) -> None:
    job = await waiting_job(world)
    for _ in range(20):
        await called_back(services, token_of(services, job))
    assert len(world.bus.accepted()) == 1
    assert len(await world.jobs.rows(job.job_id, RowKind.TIMELINE)) == 1


async def test_a_busy_caller_does_not_make_the_timeline_long(world: World, services: Services) -> None:
    job = await waiting_job(world)
    for _ in range(100):
        world.clock.advance(SPACING + timedelta(seconds=1))
        await called_back(services, token_of(services, job))
        snapshot = await world.jobs.load(job.job_id)
        assert snapshot is not None
        later = world.clock.now() + timedelta(minutes=1)
        await world.jobs.commit(snapshot, snapshot.job.changed(world.clock.now(), not_before=later))
    told = await world.jobs.rows(job.job_id, RowKind.TIMELINE)
    assert {row.data["event"] for row in told} == {"called_back"}
    assert 5 <= len(told) <= 6  # of five minutes


async def test_a_job_that_was_just_looked_at_is_looked_at_after_a_moment(
    world: World, services: Services
) -> None:
    job = await waiting_job(world, age=0)
    await called_back(services, token_of(services, job))
    assert world.bus.take_due() == []
    world.clock.advance(2)
    assert len(world.bus.take_due()) == 1


async def test_a_wait_that_ends_sooner_anyway_is_not_put_off(world: World, services: Services) -> None:
    job = await waiting_job(world, age=0, wait=1)
    await called_back(services, token_of(services, job))
    assert world.jobs.job(job.job_id) == job


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.RUNNING, JobState.RETRY_SCHEDULED])
async def test_before_the_submit_is_recorded_the_provider_is_to_try_again(
    world: World, services: Services, state: JobState
) -> None:
    lease = Lease(token="t", until=world.clock.now()) if state is JobState.RUNNING else None
    job = await store(world, new_job(world, state=state, lease=lease))
    with pytest.raises(NotReady) as caught:
        await called_back(services, token_of(services, job))
    assert (caught.value.status, "Retry-After" in caught.value.headers) == (503, True)
    assert await unchanged(world, job)


@pytest.mark.parametrize("state", [JobState.SUCCEEDED, JobState.CLOSED, JobState.CANCELLED, JobState.DEAD])
async def test_a_job_that_ended_is_left_alone(world: World, services: Services, state: JobState) -> None:
    job = await store(world, new_job(world, state=state))
    assert await called_back(services, token_of(services, job)) == CallbackTaken(hurried=False)
    assert await unchanged(world, job)


async def test_an_earlier_releases_submit_may_still_call(world: World, services: Services) -> None:
    job = await waiting_job(world)
    token = token_of(services, job)
    snapshot = await snapshot_of(world, job.job_id)
    await world.jobs.commit(snapshot, replace(job, release=1))
    assert await called_back(services, token) == CallbackTaken(hurried=True)


async def test_another_apps_token_changes_nothing(world: World, services: Services) -> None:
    job = await waiting_job(world)
    other = Settings.model_validate(
        {"PUBLIC_BASE_URL": BASE, "AFTERHOOK_CALLBACK_KEY": "another invented secret of length"}
    )
    token = token_of(build_services(world, settings=other), job)
    for text in (token, "", "x" * 91, job.job_id, "\ud800" * 91):
        with pytest.raises(BadToken):
            await called_back(services, text)
    assert await unchanged(world, job)


async def test_a_token_ends_with_the_jobs_deadlines(world: World, services: Services) -> None:
    job = await waiting_job(world)
    token = token_of(services, job)
    policy = services.pipeline.tasks[job.task_type]
    world.clock.advance(policy.poll.deadline + policy.retry.deadline)
    assert await called_back(services, token) == CallbackTaken(hurried=True)
    world.clock.advance(timedelta(days=1))
    with pytest.raises(TokenExpired):
        await called_back(services, token)


async def test_a_token_for_an_unknown_job_or_release_is_not_found(world: World, services: Services) -> None:
    with pytest.raises(NoSuchJob):
        await called_back(services, token_of(services, new_job(world)))
    job = await waiting_job(world)
    with pytest.raises(NoSuchJob):
        await called_back(services, token_of(services, replace(job, release=1)))


async def test_without_the_setting_there_is_no_address_and_callers_try_again(
    world: World, services: Services
) -> None:
    job = await waiting_job(world)
    bare = build_services(world)
    assert callback_url_for(bare, job) is None
    with pytest.raises(CallbacksOff) as caught:
        await called_back(bare, token_of(services, job))
    assert caught.value.status == 503
    with pytest.raises(BadToken):
        await called_back(bare, "x")


def test_the_address_is_the_same_for_every_attempt(world: World, services: Services) -> None:
    job = new_job(world)
    first = callback_url_for(services, job)
    world.clock.advance(600)
    assert callback_url_for(services, replace(job, attempt=2, claim=9, turn=4)) == first
    assert callback_url_for(services, replace(job, release=1)) != first


@pytest.mark.parametrize("point", [Point.CALLBACK_AFTER_WRITE, Point.CALLBACK_AFTER_NUDGE])
async def test_after_a_kill_the_providers_repeat_finishes_it(
    world: World, services: Services, point: Point
) -> None:
    job = await waiting_job(world)
    async with killed_at(point):
        await called_back(services, token_of(services, job))
    assert await called_back(services, token_of(services, job)) == CallbackTaken(hurried=True)
    assert len(world.bus.take_due()) == 1


async def test_a_row_that_changes_meanwhile_is_judged_anew(world: World, services: Services) -> None:
    job = await waiting_job(world)
    world.jobs.fail_next("commit", Conflict("changed"))
    assert await called_back(services, token_of(services, job)) == CallbackTaken(hurried=True)
    assert len(world.bus.take_due()) == 1


async def test_while_the_bus_is_away_the_provider_is_to_try_again(world: World, services: Services) -> None:
    job = await waiting_job(world)
    world.bus.down = True
    with pytest.raises(QueueUnavailable):
        await called_back(services, token_of(services, job))
    world.bus.down = False
    await called_back(services, token_of(services, job))
    assert len(world.bus.take_due()) == 1
