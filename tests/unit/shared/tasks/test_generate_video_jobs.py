"""Whole jobs of `generate_video`: ordered once, waited for, and each failure told."""

from datetime import timedelta
from typing import Any

import pytest

from devhost.outside import Outside
from shared.adapters.openai_videos import OpenAIVideos
from shared.jobs import Category, JobState
from shared.pipeline.policies import BudgetPolicy
from tests.unit.shared.tasks.video_jobs import PATHS, PRICE, begun


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
