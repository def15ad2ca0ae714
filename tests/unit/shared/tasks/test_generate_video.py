"""`generate_video`: submitted once, looked at until it ends, and each failure told apart."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

import pytest

from shared.calls.calling import NO_COST, Usage
from shared.calls.failures import CallFailed, Sighting, classify
from shared.calls.resting import TriedInVain
from shared.effects.contract import Done, EffectContract
from shared.errors import AfterhookError, PermanentError, TransientError
from shared.tasks.base import Task, TaskInput, TaskResult, Waiting
from shared.tasks.generate_video import GenerateVideo
from shared.tasks.options import GenerateVideoOptions
from shared.video.errors import (
    ContentRefused,
    CreationFailed,
    LinkBroken,
    LinkRefused,
    Unfit,
    VideoNotConfigured,
    VideoNotKnown,
    VideoRequestInvalid,
    VideoUnfit,
)
from shared.video.provider import VideoFile, VideoProvider, VideoRequest, VideoState, VideoStatus
from tests.support.fakes import FakeClock
from tests.support.task_context import DirectCalls, MemoryEffects, a_context
from tests.support.videos import mp4, webm

T = TypeVar("T")
OPTIONS = GenerateVideoOptions()
QUEUED = VideoStatus(state=VideoState.QUEUED)
COMPLETED = VideoStatus(state=VideoState.COMPLETED)
FAILED = VideoStatus(state=VideoState.FAILED)
LINKED = VideoStatus(state=VideoState.COMPLETED, link="https://media.example.com/marked-link.mp4")


def seen(**sighting: object) -> CallFailed:
    return classify(Sighting(provider="videos", **sighting))  # type: ignore[arg-type]  # of a test's own words


@dataclass(slots=True)
class ScriptedProvider:
    """Implements `VideoProvider`: each status and file is the next of its list, the last one for ever."""

    statuses: list[VideoStatus | AfterhookError]
    files: list[VideoFile | AfterhookError] = field(default_factory=lambda: [VideoFile(mp4(), "video/mp4")])
    lookup_lag: timedelta | None = None
    created: list[tuple[VideoRequest, str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    prepared: int = 0

    @property
    def contract(self) -> EffectContract:
        return EffectContract(
            action="create_video",
            provider="videos",
            version=1,
            call_timeout=timedelta(seconds=60),
            lookup_lag=self.lookup_lag,
        )

    @property
    def link_hosts(self) -> tuple[str, ...]:
        return ("media.example.com",)

    async def prepare(self) -> None:
        assert not self.created or self.prepared
        self.prepared += 1

    async def create(self, request: VideoRequest, key: str) -> Done:
        self.created.append((request, key))
        return Done(external_id=f"video_{len(self.created)}", data={"seconds": request.seconds})

    async def find(self, key: str) -> Done | None:
        return None

    async def status(self, external_id: str) -> VideoStatus:
        self.asked.append(external_id)
        return told(self.statuses)

    async def fetch(self, external_id: str, max_bytes: int) -> VideoFile:
        return told(self.files)


@dataclass(slots=True)
class ScriptedDownloads:
    """Implements `Downloads`."""

    files: list[VideoFile | AfterhookError] = field(default_factory=lambda: [VideoFile(mp4(), "video/mp4")])
    links: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    free: bool = True
    holding: int = 0

    @asynccontextmanager
    async def slot(self, wait: timedelta) -> AsyncIterator[bool]:
        self.holding += 1
        try:
            yield self.free
        finally:
            self.holding -= 1

    async def fetch(self, provider: str, link: str, *, hosts: tuple[str, ...], max_bytes: int) -> VideoFile:
        assert self.holding == 1
        self.links.append((link, hosts))
        return told(self.files)


def told(script: list[T | AfterhookError]) -> T:
    step = script.pop(0) if len(script) > 1 else script[0]
    if isinstance(step, AfterhookError):
        raise step
    return step


def order(**fields: object) -> TaskInput:
    content = json.dumps({"prompt": "A marked-word on a roof"} | fields).encode()
    return TaskInput("inline/x", "inline", len(content), "application/json", content, own=True)


def task(
    provider: VideoProvider | None, downloads: ScriptedDownloads | None = None, **more: int
) -> GenerateVideo:
    return GenerateVideo(OPTIONS, provider, downloads or ScriptedDownloads(), **more)


async def run(made: Task, effects: MemoryEffects | None = None) -> TaskResult | Waiting:
    return await made.run(order(), a_context(effects))


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
