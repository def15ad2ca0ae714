"""Whole jobs of `generate_video`: the real worker, ledger, adapter and SDK, against a service that counts."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.request import Request, urlopen

import pytest

from devhost.outside import Outside
from shared.adapters.downloads import LinkDownloads
from shared.adapters.openai_videos import OpenAIVideos, VideoApi
from shared.deadletters.decisions import Decision
from shared.deadletters.filing import file_case
from shared.deadletters.reconcile import Outcome, Reconciliation, reconcile
from shared.errors import DeadLettered
from shared.jobs import Category, Job, JobState
from shared.messages import JobMessage
from shared.pipeline import TaskPolicy
from shared.pipeline.policies import BudgetPolicy
from shared.retry import BackoffList, RetryPolicy
from shared.tasks.generate_video import GenerateVideo
from shared.tasks.options import GenerateVideoOptions
from shared.worker.run import Worker
from tests.support.application import build_services, new_job, pipeline, store
from tests.support.fakes import World
from tests.support.providers import client_of, outside

OPTIONS = GenerateVideoOptions()
ORDER = "inputs/documents/order.json"
PATHS = {
    "create": ("POST", "/v1/videos"),
    "status": ("GET", "/v1/videos/*"),
    "fetch": ("GET", "/v1/videos/*/content"),
}
PRICE = 100_000


@pytest.fixture(scope="module")
def shared_service() -> Iterator[Outside]:
    with outside() as service:
        yield service


@pytest.fixture
def service(shared_service: Outside) -> Outside:
    shared_service.reset()
    return shared_service


class Bench:
    """A job, its worker, and the service that makes its video."""

    def __init__(self, task: GenerateVideo, budget: BudgetPolicy) -> None:
        self.world = World()
        retry = RetryPolicy(
            attempts=3,
            deadline=timedelta(hours=24),
            backoff=BackoffList((timedelta(seconds=30),)),
            jitter=0.0,
        )
        policy = TaskPolicy(
            name="generate_video",
            attempt_timeout=timedelta(minutes=3),
            retry=retry,
            budget=budget,
            options=OPTIONS,
        )
        self.services = build_services(
            self.world,
            pipeline=replace(pipeline(), tasks={"generate_video": policy}),
            tasks={"generate_video": task},
        )
        self.worker = Worker(self.services)
        self.job: Job = new_job(self.world, task_type="generate_video", input_ref=ORDER)

    async def begin(self) -> None:
        self.world.blobs.put_now(ORDER, b'{"prompt": "A cat on a roof"}', "application/json")
        await store(self.world, self.job)

    async def step(self) -> Job:
        """Deliver the message that is due, at its time."""
        job = self.stored
        if job.not_before is not None:
            self.world.clock.advance(max(job.not_before - self.world.clock.now(), timedelta(0)))
        message = JobMessage.for_job(job)
        await self.worker.handle(message.body(), message.properties(), message.message_id)
        return self.stored

    async def run(self, most: int = 12) -> Job:
        """Deliver until the job is over."""
        for _ in range(most):
            try:
                job = await self.step()
            except DeadLettered:
                return self.stored
            if job.final:
                return job
        raise AssertionError(f"still {self.stored.state}")

    @property
    def stored(self) -> Job:
        return self.world.jobs.job(self.job.job_id)


@pytest.fixture
async def provider(service: Outside) -> AsyncIterator[OpenAIVideos]:
    async with client_of(service.openai_url) as client:
        yield OpenAIVideos(client, VideoApi())


async def begun(provider: OpenAIVideos, budget: BudgetPolicy | None = None) -> Bench:
    task = GenerateVideo(OPTIONS, provider, LinkDownloads([]), PRICE)
    bench = Bench(task, budget or BudgetPolicy())
    await bench.begin()
    return bench


async def test_a_video_is_waited_for_without_attempts_and_kept(
    provider: OpenAIVideos, service: Outside
) -> None:
    bench = await begun(provider)
    states = [(await bench.step()).state for _ in range(3)]
    assert states == [JobState.AWAITING_RESULT, JobState.AWAITING_RESULT, JobState.SUCCEEDED]
    job = bench.stored
    assert (job.attempt, job.open_effects) == (0, ())
    assert job.result is not None
    assert job.result.content_type == "video/mp4"
    assert bench.world.blobs.content(job.result.ref)[4:8] == b"ftyp"
    assert service.effects()["video"].by_request == {f"{job.job_id}:create_video": 1}


@pytest.mark.parametrize(
    ("call", "step", "attempts", "videos"),
    [
        ("create", {"status": 429, "retry_after": 90}, 1, 1),
        ("create", {"status": 503}, 1, 1),
        ("create", {"creation_fails": "server_error"}, 1, 2),
        ("status", {"status": 500}, 0, 1),
        ("status", {"status": 500, "times": 9}, 0, 1),
        ("status", {"status": 429, "retry_after": 90}, 0, 1),
        ("status", {"status": 404}, 0, 1),
        ("status", "cut_before", 0, 1),
        ("status", {"garbage": "html"}, 0, 1),
        ("fetch", {"status": 404}, 0, 1),
        ("fetch", {"status": 404, "times": 9}, 0, 1),
        ("fetch", {"status": 429}, 0, 1),
        ("fetch", "cut_during", 0, 1),
        ("fetch", {"garbage": "html"}, 0, 1),
        ("fetch", {"garbage": "empty"}, 0, 1),
    ],
    ids=str,
)
async def test_what_passes_is_outlasted_and_only_a_failed_creation_creates_again(
    provider: OpenAIVideos, service: Outside, call: str, step: Any, attempts: int, videos: int
) -> None:
    service.script(*PATHS[call], step)
    job = await (await begun(provider)).run()
    assert (job.state, job.attempt) == (JobState.SUCCEEDED, attempts)
    counted = service.effects()["video"]
    assert counted.count == videos
    assert max(counted.by_request.values()) == 1


@pytest.mark.parametrize(
    ("call", "step", "category", "code", "videos"),
    [
        ("create", "cut_after", Category.RECONCILE, "outcome_unknown", 1),
        ("create", "cut_before", Category.RECONCILE, "outcome_unknown", 0),
        ("create", {"status": 500, "after": True}, Category.RECONCILE, "outcome_unknown", 1),
        ("create", {"garbage": "wrong_shape"}, Category.RECONCILE, "outcome_unknown", 1),
        ("create", {"status": 400}, Category.FIX_INPUT, "provider_call_failed", 0),
        ("create", {"status": 400, "code": "moderation_blocked"}, Category.FIX_INPUT, "content_refused", 0),
        ("create", {"status": 401}, Category.MANUAL_REVIEW, "provider_call_failed", 0),
        ("create", {"creation_fails": "moderation_blocked"}, Category.FIX_INPUT, "video_content_refused", 1),
        (
            "create",
            {"creation_fails": "error", "times": 9},
            Category.MANUAL_REVIEW,
            "video_creation_failed",
            3,
        ),
        ("fetch", {"garbage": "truncated"}, Category.MANUAL_REVIEW, "video_unfit", 1),
        ("fetch", {"garbage": "zeros"}, Category.MANUAL_REVIEW, "video_unfit", 1),
    ],
    ids=str,
)
async def test_what_does_not_pass_is_a_case_that_says_which_failure_it_was(
    provider: OpenAIVideos, service: Outside, call: str, step: Any, category: Category, code: str, videos: int
) -> None:
    service.script(*PATHS[call], step)
    job = await (await begun(provider)).run()
    assert job.state is JobState.DEAD
    assert job.failure is not None
    assert (job.failure.category, job.failure.code) == (category, code)
    assert job.open_effects == (("create_video",) if category is Category.RECONCILE else ())
    counted = service.effects()["video"]
    assert counted.count == videos
    assert max(counted.by_request.values(), default=0) <= 1


async def test_the_first_look_already_has_the_time_of_the_wait(
    provider: OpenAIVideos, service: Outside
) -> None:
    service.script(*PATHS["status"], {"status": 500, "times": 3})
    bench = await begun(provider)
    ordered_at = bench.world.clock.now()
    states = [(await bench.step()).state for _ in range(3)]
    assert states == [JobState.AWAITING_RESULT] * 3
    assert bench.stored.waiting_since == ordered_at
    resting = await bench.step()  # three failures in a row: the breaker is open, which is no end of the wait
    assert (resting.state, resting.attempt) == (JobState.AWAITING_RESULT, 0)


async def test_looks_in_vain_end_with_the_poll_deadline(provider: OpenAIVideos, service: Outside) -> None:
    service.script(*PATHS["status"], {"status": 404, "times": 999})
    bench = await begun(provider)
    ordered_at = bench.world.clock.now()
    job = await bench.run(most=200)
    assert job.failure is not None
    assert (job.failure.category, job.failure.code) == (Category.MANUAL_REVIEW, "video_not_known")
    assert timedelta(hours=2) <= bench.world.clock.now() - ordered_at < timedelta(hours=2, minutes=10)
    assert (job.attempt, service.effects()["video"].count) == (0, 1)


async def of_unknown_outcome(provider: OpenAIVideos, service: Outside) -> Bench:
    """A dead job whose order was carried out, though its answer was lost."""
    service.script(*PATHS["create"], "cut_after")
    bench = await begun(provider)
    assert (await bench.run()).open_effects == ("create_video",)
    bench.world.clock.advance(timedelta(minutes=5))
    return bench


def ordered(service: Outside) -> str:
    """The id of the latest order, as a person finds it in the service's list."""
    listing = Request(f"{service.openai_url}/videos", headers={"Authorization": "Bearer key"})
    with urlopen(listing, timeout=60) as answer:
        return str(json.load(answer)["data"][0]["id"])


async def say_done(bench: Bench, external_id: str) -> None:
    """A person's word about the order, once the job's case is filed."""
    dead = await bench.world.jobs.load(bench.job.job_id)
    assert dead is not None
    await file_case(bench.services, dead)
    word = Reconciliation(effect="create_video", outcome=Outcome.DONE, external_id=external_id)
    await reconcile(bench.services, bench.job.job_id, Decision(operator="ada", reason="in the list"), word)


@pytest.mark.parametrize(
    ("external_id", "status"),
    [("video_mistyped", 404), ("video_mistyped", 400), ("video_mistyped", 422), ("../models", None)],
)
async def test_an_id_that_a_person_mistyped_is_a_case_again_at_once_and_can_be_corrected(
    provider: OpenAIVideos, service: Outside, external_id: str, status: int | None
) -> None:
    bench = await of_unknown_outcome(provider, service)
    await say_done(bench, external_id)
    if status is not None:
        service.script(*PATHS["status"], {"status": status})
    with pytest.raises(DeadLettered):
        await bench.step()
    job = bench.stored
    assert job.failure is not None
    assert (job.failure.category, job.failure.code) == (Category.RECONCILE, "id_not_known")
    assert (job.attempt, job.failure.attempts, job.open_effects) == (0, 1, ())
    await say_done(bench, ordered(service))
    assert (await bench.run()).state is JobState.SUCCEEDED
    assert service.effects()["video"].count == 1


async def test_an_id_that_a_person_gave_is_waited_for_like_any_other_once_its_video_was_seen(
    provider: OpenAIVideos, service: Outside
) -> None:
    bench = await of_unknown_outcome(provider, service)
    await say_done(bench, ordered(service))
    assert (await bench.step()).state is JobState.AWAITING_RESULT
    service.script(*PATHS["status"], {"status": 404})
    assert ((await bench.step()).state, bench.stored.attempt) == (JobState.AWAITING_RESULT, 0)
    assert (await bench.run()).state is JobState.SUCCEEDED


async def test_what_says_nothing_of_a_person_s_id_is_a_retry(
    provider: OpenAIVideos, service: Outside
) -> None:
    bench = await of_unknown_outcome(provider, service)
    await say_done(bench, ordered(service))
    service.script(*PATHS["status"], {"status": 500})
    assert ((await bench.step()).state, bench.stored.attempt) == (JobState.RETRY_SCHEDULED, 1)
    assert (await bench.run()).state is JobState.SUCCEEDED


async def test_a_retry_waits_as_long_as_the_service_asks(provider: OpenAIVideos, service: Outside) -> None:
    service.script("POST", "/v1/videos", {"status": 429, "retry_after": 90})
    bench = await begun(provider)
    begun_at = bench.world.clock.now()
    job = await bench.step()
    assert job.not_before is not None
    assert job.not_before >= begun_at + timedelta(seconds=90)


async def test_a_video_over_the_budget_is_never_ordered(provider: OpenAIVideos, service: Outside) -> None:
    bench = await begun(provider, BudgetPolicy(job_micros=4 * PRICE - 1))
    job = await bench.run()
    assert job.failure is not None
    assert (job.failure.category, job.open_effects) == (Category.BUDGET, ())
    assert service.effects()["video"].count == 0
