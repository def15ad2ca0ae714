"""The file of a finished video: fetched again when the link breaks, and for a person when it is unfit."""

from datetime import timedelta

import pytest

from shared.calls.failures import CallFailed
from shared.errors import AfterhookError, PermanentError, TransientError
from shared.tasks.base import TaskResult, Waiting
from shared.tasks.generate_video import GenerateVideo
from shared.tasks.options import GenerateVideoOptions
from shared.video.errors import LinkBroken, LinkRefused, Unfit, VideoUnfit
from shared.video.provider import VideoFile
from tests.support.task_context import DirectCalls, MemoryEffects, a_context
from tests.support.videos import mp4, webm
from tests.unit.shared.tasks.scripted_videos import (
    COMPLETED,
    LINKED,
    ScriptedDownloads,
    ScriptedProvider,
    order,
    run,
    seen,
    task,
)


@pytest.mark.parametrize(
    "failure",
    [
        seen(status=404),
        seen(status=403),
        seen(status=429, retry_after=timedelta(seconds=9)),
        seen(status=500),
        seen(),
        seen(sent=False),
    ],
    ids=str,
)
@pytest.mark.parametrize("by_link", [True, False])
async def test_a_broken_link_is_fetched_again_and_nothing_is_created(
    failure: CallFailed, by_link: bool
) -> None:
    file = VideoFile(mp4(), "video/mp4")
    files: list[VideoFile | AfterhookError] = [failure, file]
    provider = ScriptedProvider([LINKED if by_link else COMPLETED], files if not by_link else [file])
    made, effects = task(provider, ScriptedDownloads(files if by_link else [file])), MemoryEffects()
    with pytest.raises(LinkBroken) as caught:
        await run(made, effects)
    assert isinstance(caught.value, TransientError)
    assert caught.value.retry_after == failure.retry_after
    assert "marked" not in str(caught.value)
    assert await run(made, effects) == TaskResult(mp4(), "video/mp4")
    assert len(provider.created) == 1
    assert effects.disproved == []


@pytest.mark.parametrize(
    "file",
    [
        VideoFile(b"", "video/mp4"),
        VideoFile(b"<html>Not yet", "text/html"),
        VideoFile(b'{"error": {}}', "application/json"),
        VideoFile(b"later", "text/plain"),
    ],
)
async def test_what_is_not_the_file_at_all_is_a_broken_link(file: VideoFile) -> None:
    with pytest.raises(LinkBroken):
        await run(task(ScriptedProvider([COMPLETED], [file])))


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (VideoFile(mp4()[:-40], "video/mp4"), Unfit.TRUNCATED),
        (VideoFile(mp4(40.0), "video/mp4"), Unfit.OTHER_LENGTH),
        (VideoFile(mp4(handler=b"soun"), "video/mp4"), Unfit.NO_PICTURE),
        (VideoFile(bytes(5000), "video/mp4"), Unfit.OTHER_FORMAT),
        (VideoFile(mp4(), "video/webm"), Unfit.CONTRADICTION),
    ],
)
async def test_an_unfit_file_is_for_a_person_and_nothing_is_created(file: VideoFile, reason: Unfit) -> None:
    provider, effects = ScriptedProvider([COMPLETED], [file]), MemoryEffects()
    for _ in range(2):
        with pytest.raises(VideoUnfit) as caught:
            await run(task(provider), effects)
        assert caught.value.reason is reason
    assert len(provider.created) == 1
    assert effects.disproved == []


async def test_a_file_over_the_limit_is_unfit() -> None:
    options = GenerateVideoOptions.model_validate({"max_video": f"{len(mp4()) - 1}B"})
    made = GenerateVideo(options, ScriptedProvider([COMPLETED]), ScriptedDownloads())
    with pytest.raises(VideoUnfit) as caught:
        await run(made)
    assert caught.value.reason is Unfit.TOO_LARGE


async def test_a_link_is_fetched_from_the_hosts_of_the_contract_alone() -> None:
    downloads = ScriptedDownloads([LinkRefused()])
    with pytest.raises(LinkRefused) as caught:
        await run(task(ScriptedProvider([LINKED]), downloads))
    assert downloads.links == [(LINKED.link, ("media.example.com",))]
    assert isinstance(caught.value, PermanentError)


async def test_a_job_that_finds_no_download_slot_waits_without_a_call_that_could_fail() -> None:
    """However long others download: it is no outage of the provider, and no attempt is spent."""
    downloads, calls = ScriptedDownloads(free=False), DirectCalls()
    provider, effects = ScriptedProvider([LINKED]), MemoryEffects()
    made = task(provider, downloads)
    assert await made.run(order(), a_context(effects, calls)) == Waiting("downloads_busy")
    assert (calls.providers, downloads.links, downloads.holding) == (["videos"], [], 0)
    downloads.free = True
    assert await run(made, effects) == TaskResult(mp4(), "video/mp4")
    assert (len(provider.created), downloads.holding) == (1, 0)


async def test_the_providers_own_endpoint_needs_no_download_slot() -> None:
    downloads = ScriptedDownloads(free=False)
    assert isinstance(await run(task(ScriptedProvider([COMPLETED]), downloads)), TaskResult)


async def test_a_webm_is_kept_as_one() -> None:
    provider = ScriptedProvider([COMPLETED], [VideoFile(webm(), "video/webm")])
    assert await run(task(provider)) == TaskResult(webm(), "video/webm")


async def test_the_length_is_compared_with_what_was_ordered_not_with_todays_options() -> None:
    provider, effects = ScriptedProvider([COMPLETED], [VideoFile(mp4(12.0), None)]), MemoryEffects()
    longer = GenerateVideo(GenerateVideoOptions(seconds="12"), provider, ScriptedDownloads())
    shorter = task(provider)
    for made in (longer, shorter):
        assert await run(made, effects) == TaskResult(mp4(12.0), "video/mp4")
    assert len(provider.created) == 1
