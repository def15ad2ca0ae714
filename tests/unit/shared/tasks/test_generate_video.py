"""`generate_video`: submitted once, looked at until it ends, and each failure of it told apart."""

from datetime import timedelta

import pytest

from shared.calls.calling import NO_COST, Usage
from shared.calls.failures import CallFailed
from shared.calls.resting import TriedInVain
from shared.errors import PermanentError, TransientError
from shared.tasks.base import TaskResult, Waiting
from shared.video.errors import (
    ContentRefused,
    CreationFailed,
    VideoNotConfigured,
    VideoNotKnown,
    VideoRequestInvalid,
)
from shared.video.provider import VideoState, VideoStatus
from tests.support.fakes import FakeClock
from tests.support.task_context import DirectCalls, MemoryEffects, a_context
from tests.support.videos import mp4
from tests.unit.shared.tasks.scripted_videos import (
    COMPLETED,
    FAILED,
    LINKED,
    QUEUED,
    ScriptedProvider,
    order,
    run,
    seen,
    task,
)


async def test_a_video_is_waited_for_without_a_second_creation() -> None:
    provider = ScriptedProvider([QUEUED, VideoStatus(state=VideoState.IN_PROGRESS), COMPLETED])
    made, effects = task(provider), MemoryEffects()
    ends = [await run(made, effects) for _ in range(3)]
    assert ends == [Waiting("video_queued"), Waiting("video_in_progress"), TaskResult(mp4(), "video/mp4")]
    assert [key for _, key in provider.created] == ["job_x:create_video"]
    assert provider.asked == ["video_1"] * 3


async def test_what_takes_long_is_done_before_the_intent_is_written() -> None:
    provider = ScriptedProvider([QUEUED])
    await run(task(provider))
    assert provider.prepared == 1


async def test_the_provider_says_when_to_look_again() -> None:
    provider = ScriptedProvider([VideoStatus(state=VideoState.QUEUED, retry_after=timedelta(seconds=40))])
    assert await run(task(provider)) == Waiting("video_queued", timedelta(seconds=40))


async def test_the_order_is_what_the_input_says_and_the_options_add() -> None:
    provider = ScriptedProvider([QUEUED])
    context = a_context(callback_url="https://example.com/api/callbacks/token")
    await task(provider).run(order(seconds=12), context)
    ((request, _),) = provider.created
    assert (request.prompt, request.seconds, request.size) == ("A marked-word on a roof", "12", "720x1280")
    assert request.callback_url == "https://example.com/api/callbacks/token"


@pytest.mark.parametrize(("price", "cost"), [(0, NO_COST), (100_000, Usage(micros=800_000))])
async def test_a_video_costs_its_seconds(price: int, cost: Usage) -> None:
    effects = MemoryEffects()
    await task(ScriptedProvider([QUEUED]), second_micros=price).run(order(seconds=8), a_context(effects))
    assert effects.estimates == [cost]


async def test_only_a_failed_creation_is_created_again() -> None:
    provider, effects = ScriptedProvider([FAILED, QUEUED]), MemoryEffects()
    with pytest.raises(CreationFailed) as caught:
        await run(task(provider), effects)
    assert isinstance(caught.value, TransientError)
    assert effects.disproved == [("create_video", "video_creation_failed")]
    assert await run(task(provider), effects) == Waiting("video_queued")
    assert [key for _, key in provider.created] == ["job_x:create_video", "job_x:create_video:g1"]


async def test_a_refused_video_is_for_a_person_who_may_have_it_tried_again() -> None:
    provider, effects = ScriptedProvider([VideoStatus(state=VideoState.REFUSED)]), MemoryEffects()
    with pytest.raises(ContentRefused) as caught:
        await run(task(provider), effects)
    assert isinstance(caught.value, PermanentError)
    assert effects.disproved == [("create_video", "video_content_refused")]


async def test_a_video_that_the_provider_does_not_know_is_not_created_again() -> None:
    provider, effects = ScriptedProvider([seen(status=404), COMPLETED]), MemoryEffects()
    with pytest.raises(VideoNotKnown) as caught:
        await run(task(provider), effects)
    assert isinstance(caught.value, TransientError)
    assert isinstance(await run(task(provider), effects), TaskResult)
    assert len(provider.created) == 1


async def test_a_resting_provider_is_waited_for_and_is_no_broken_link() -> None:
    now = FakeClock().now()
    resting = TriedInVain(seen(status=503), now + timedelta(minutes=1), now)
    for provider in (ScriptedProvider([resting]), ScriptedProvider([COMPLETED], [resting])):
        with pytest.raises(TriedInVain):
            await run(task(provider))


async def test_a_status_that_fails_passes_as_it_is() -> None:
    with pytest.raises(CallFailed):
        await run(task(ScriptedProvider([seen(status=500)])))


async def test_an_input_that_is_no_order_costs_no_call() -> None:
    provider = ScriptedProvider([QUEUED])
    with pytest.raises(VideoRequestInvalid):
        await task(provider).run(order(seconds=5), a_context())
    assert provider.created == []


async def test_without_a_provider_the_job_says_which_setting_is_missing() -> None:
    with pytest.raises(VideoNotConfigured, match="VIDEO_BASE_URL"):
        await run(task(None))


async def test_every_call_but_the_creation_goes_through_the_calls_of_the_context() -> None:
    calls = DirectCalls()
    await task(ScriptedProvider([LINKED])).run(order(), a_context(calls=calls))
    assert calls.providers == ["videos", "videos"]
