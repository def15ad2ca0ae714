"""Whole jobs of `generate_video` whose order a person names: waited for, or a case again."""

import json
from datetime import timedelta
from urllib.request import Request, urlopen

import pytest

from devhost.outside import Outside
from shared.adapters.openai_videos import OpenAIVideos
from shared.deadletters.decisions import Decision
from shared.deadletters.filing import file_case
from shared.deadletters.reconcile import Outcome, Reconciliation, reconcile
from shared.errors import DeadLettered
from shared.jobs import Category, JobState
from tests.unit.shared.tasks.video_jobs import PATHS, Bench, begun


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
