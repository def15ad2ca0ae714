"""`GET /jobs/{job_id}` on the telling of a job's end."""

import json
from typing import Any

import pytest

from shared.jobs import JobState, Review
from shared.notify.delivery import deliver
from shared.notify.notifier import Attempt, NoRoom, NotTold, Told
from shared.services import Services
from tests.support.application import build_services, new_job, store
from tests.support.fakes import World
from tests.support.notify import RECEIVER, succeeded_job, telling_pipeline
from tests.unit.shared.http.job_calls import show
from tests.unit.shared.http.serving import call


@pytest.mark.parametrize(
    ("attempts", "told"),
    [
        ([], {"state": "waiting", "failed_attempts": 0, "next_at": "2026-07-27T10:15:00.000Z"}),
        ([Told()], {"state": "delivered", "failed_attempts": 0}),
        (
            [NotTold(code="receiver_failed", status=503)],
            {
                "state": "waiting",
                "failed_attempts": 1,
                "code": "receiver_failed",
                "http_status": 503,
                "next_at": "2026-07-27T10:15:05.000Z",
            },
        ),
        (
            [NotTold(code="secret_unusable")],
            {
                "state": "waiting",
                "failed_attempts": 1,
                "code": "secret_unusable",
                "next_at": "2026-07-27T10:15:05.000Z",
            },
        ),
        (
            [NoRoom()],
            {
                "state": "waiting",
                "failed_attempts": 0,
                "code": "receiver_busy",
                "next_at": "2026-07-27T10:15:05.000Z",
            },
        ),
        ([NotTold(code="refused", status=404), Told()], {"state": "delivered", "failed_attempts": 1}),
        (
            [NotTold(code="receiver_gone", status=410, for_good=True)],
            {"state": "given_up", "failed_attempts": 1, "code": "receiver_gone", "http_status": 410},
        ),
    ],
    ids=["not tried", "delivered", "failed", "secret", "busy", "delivered later", "given up"],
)
async def test_a_job_says_how_far_the_telling_of_its_end_came(
    world: World, attempts: list[Attempt], told: dict[str, Any]
) -> None:
    services = build_services(world, pipeline=telling_pipeline())
    job = await succeeded_job(services, world)
    world.notifier.script = list(attempts)
    world.randomness.next_fractions = [0.0] * len(attempts)
    for _ in attempts:
        await deliver(services, job)
        world.clock.advance(6)
    answer = await call(services, "get_job", job.job_id)
    assert json.loads(answer.body)["notification"] == {"type": "job.succeeded"} | told
    assert RECEIVER.encode() not in answer.body


async def test_a_job_whose_end_is_told_nobody_says_so(world: World, services: Services) -> None:
    job = await store(world, new_job(world, state=JobState.SUCCEEDED))
    assert (await show(services, job.job_id))["notification"] == {"state": "not_configured"}


async def test_a_receiver_that_is_no_longer_configured_is_told_nothing_more(
    world: World, services: Services
) -> None:
    job = await succeeded_job(build_services(world, pipeline=telling_pipeline()), world)
    told = (await show(services, job.job_id))["notification"]
    assert (told["state"], "next_at" in told) == ("not_configured", False)


@pytest.mark.parametrize("review", [Review.PENDING, Review.REJECTED])
async def test_a_review_withholds_the_telling_too(world: World, review: Review) -> None:
    services = build_services(world, pipeline=telling_pipeline())
    job = await succeeded_job(services, world, review=review)
    assert (await show(services, job.job_id))["notification"] == {"state": "withheld"}


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.RUNNING, JobState.CANCELLED])
async def test_nothing_is_said_of_telling_where_there_is_nothing_to_tell(
    world: World, state: JobState
) -> None:
    services = build_services(world, pipeline=telling_pipeline())
    job = await store(world, new_job(world, state=state))
    assert "notification" not in await show(services, job.job_id)
