"""Videos over the real SDK, against an OpenAI-compatible service that fails by script."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from devhost.outside import Outside
from shared.adapters.openai_client import OpenAIClient, RefusedByPolicy
from shared.adapters.openai_videos import OpenAIVideos, VideoApi
from shared.calls.failures import CallFailed, FailureKind
from shared.video.errors import Unfit, VideoUnfit
from shared.video.provider import VideoRequest, VideoState
from shared.video.validation import VideoFormat, check_video
from tests.support.lossy import refusing
from tests.support.providers import KEY, client_of, outside
from tests.support.waiting import eventually

ORDER = VideoRequest(
    prompt="A marked-word on a roof",
    model="sora-2",
    seconds="8",
    size="1280x720",
    callback_url="http://127.0.0.1:9/callbacks/x",
)
MIB = 1024 * 1024
ONCE = "job_x:create_video"


@pytest.fixture(scope="module")
def shared_world() -> Iterator[Outside]:
    with outside() as world:
        yield world


@pytest.fixture
def world(shared_world: Outside) -> Outside:
    shared_world.reset()
    return shared_world


@pytest.fixture
async def client(world: Outside) -> AsyncIterator[OpenAIClient]:
    async with client_of(world.openai_url) as made:
        yield made


@pytest.fixture
def videos(client: OpenAIClient) -> OpenAIVideos:
    return OpenAIVideos(client, VideoApi())


async def failure(awaited: Any) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        await awaited
    assert "marked-word" not in str(caught.value)
    return caught.value


async def test_a_video_is_submitted_polled_and_fetched(videos: OpenAIVideos, world: Outside) -> None:
    done = await videos.create(ORDER, ONCE)
    states = [(await videos.status(done.external_id)).state for _ in range(3)]
    assert states == [VideoState.QUEUED, VideoState.IN_PROGRESS, VideoState.COMPLETED]
    file = await videos.fetch(done.external_id, MIB)
    assert check_video(file, seconds=8, max_bytes=MIB).format is VideoFormat.MP4
    assert done.data == {"seconds": "8"}
    made = world.effects()["video"]
    assert (made.count, made.by_request) == (1, {ONCE: 1})


async def test_the_contract_promises_what_is_documented_and_no_more(
    videos: OpenAIVideos, world: Outside
) -> None:
    assert (videos.contract.key_window, videos.contract.can_be_asked) == (None, False)
    world.configure(videos_honour_keys=True)
    for _ in range(2):
        await videos.create(ORDER, ONCE)
    assert (world.effects()["video"].count, world.effects()["video"].by_key) == (2, {})


async def test_a_key_goes_along_where_the_service_is_said_to_take_one(
    client: OpenAIClient, world: Outside
) -> None:
    world.configure(videos_honour_keys=True)
    videos = OpenAIVideos(client, VideoApi(key_window=timedelta(hours=24)))
    assert videos.contract.key_window == timedelta(hours=24)
    first, second = [await videos.create(ORDER, ONCE) for _ in range(2)]
    assert first == second
    assert world.effects()["video"].count == 1


async def test_the_callback_url_goes_along_only_where_the_service_takes_it(
    client: OpenAIClient, world: Outside
) -> None:
    order = replace(ORDER, callback_url=f"{world.callbacks_url}/x")
    made = [
        await OpenAIVideos(client, VideoApi(pass_callback_url=takes_it)).create(order, ONCE)
        for takes_it in (False, True)
    ]
    for done in made:
        world.finish_video(done.external_id)
    await asyncio.to_thread(eventually, lambda: bool(world.callbacks()), "the callback came")
    assert [made[1].external_id in str(callback["body"]) for callback in world.callbacks()] == [True]


@pytest.mark.parametrize(
    ("step", "kind", "status", "effects"),
    [
        ({"status": 429, "retry_after": 7}, FailureKind.THROTTLED, 429, 0),
        ({"status": 503}, FailureKind.UNAVAILABLE, 503, 0),
        ({"status": 500}, FailureKind.UNCLEAR, 500, 0),
        ({"status": 500, "after": True}, FailureKind.UNCLEAR, 500, 1),
        ({"status": 400}, FailureKind.REJECTED, 400, 0),
        ({"status": 401}, FailureKind.REJECTED, 401, 0),
        ({"status": 302}, FailureKind.UNCLEAR, 302, 0),
        ("cut_before", FailureKind.UNCLEAR, None, 0),
        ("cut_during", FailureKind.UNCLEAR, None, 1),
        ("cut_after", FailureKind.UNCLEAR, None, 1),
        ({"garbage": "not_json"}, FailureKind.UNCLEAR, None, 1),
        ({"garbage": "wrong_shape"}, FailureKind.UNCLEAR, None, 1),
        ({"garbage": "html"}, FailureKind.UNCLEAR, None, 1),
        ({"garbage": "empty"}, FailureKind.UNCLEAR, None, 1),
        ({"garbage": "truncated"}, FailureKind.UNCLEAR, None, 1),
        ({"garbage": "huge"}, FailureKind.UNCLEAR, None, 1),
    ],
    ids=str,
)
async def test_a_creation_that_fails_says_what_is_known_of_it_and_is_never_repeated(
    videos: OpenAIVideos, world: Outside, step: Any, kind: FailureKind, status: int | None, effects: int
) -> None:
    world.script("POST", "/v1/videos", step)
    failed = await failure(videos.create(ORDER, ONCE))
    assert (failed.kind, failed.status) == (kind, status)
    assert failed.retry_after == (timedelta(seconds=7) if status == 429 else None)
    assert world.effects()["video"].count == effects
    assert world.calls()["POST /v1/videos"] == 1


async def test_a_creation_slower_than_its_own_timeout_is_unclear(
    client: OpenAIClient, world: Outside
) -> None:
    world.script("POST", "/v1/videos", {"hold": "slow", "after": True})
    videos = OpenAIVideos(client, VideoApi(submit_timeout=timedelta(seconds=2)))
    assert videos.contract.call_timeout == timedelta(seconds=2)
    failed = await asyncio.wait_for(failure(videos.create(ORDER, ONCE)), 60)
    world.release("slow")
    assert failed.kind is FailureKind.UNCLEAR
    assert world.effects()["video"].count == 1


async def test_a_creation_may_take_longer_than_other_calls(world: Outside) -> None:
    world.script("POST", "/v1/videos", {"slow": 0.6})
    async with client_of(world.openai_url, seconds=0.2) as client:
        await OpenAIVideos(client, VideoApi(submit_timeout=timedelta(seconds=60))).create(ORDER, ONCE)
    assert world.effects()["video"].count == 1


async def test_a_service_that_is_not_there_was_sent_nothing() -> None:
    with refusing() as port:
        async with client_of(f"http://127.0.0.1:{port}/v1") as client:
            failed = await failure(OpenAIVideos(client, VideoApi()).create(ORDER, ONCE))
    assert (failed.kind, failed.provider) == (FailureKind.NOT_SENT, "videos")


@pytest.mark.parametrize("code", ["moderation_blocked", "content_policy_violation", "contentFilter"])
async def test_a_refusal_by_the_content_policy_is_told_as_one(
    videos: OpenAIVideos, world: Outside, code: str
) -> None:
    world.script("POST", "/v1/videos", {"status": 400, "code": code})
    failed = await failure(videos.create(ORDER, ONCE))
    assert isinstance(failed, RefusedByPolicy)
    assert (failed.kind, failed.status, failed.code) == (FailureKind.REJECTED, 400, "content_refused")


@pytest.mark.parametrize(
    ("code", "state"),
    [("server_error", VideoState.FAILED), ("moderation_blocked", VideoState.REFUSED)],
)
async def test_a_failed_video_is_told_from_a_refused_one(
    videos: OpenAIVideos, world: Outside, code: str, state: VideoState
) -> None:
    done = await videos.create(ORDER, ONCE)
    world.finish_video(done.external_id, fails=code)
    assert (await videos.status(done.external_id)).state is state


@pytest.mark.parametrize(
    "external_id", ["video_unknown", "", "..", "../chat", "a/content", "a?b", "ü", "x" * 201]
)
async def test_what_is_no_video_is_not_found(videos: OpenAIVideos, external_id: str) -> None:
    for awaited in (videos.status(external_id), videos.fetch(external_id, MIB)):
        failed = await failure(awaited)
        assert (failed.kind, failed.status) == (FailureKind.REJECTED, 404)


@pytest.mark.parametrize("garbage", ["not_json", "wrong_shape", "html", "empty", "huge"])
async def test_a_status_that_cannot_be_read_is_unclear(
    videos: OpenAIVideos, world: Outside, garbage: str
) -> None:
    done = await videos.create(ORDER, ONCE)
    world.script("GET", "/v1/videos/*", {"garbage": garbage})
    assert (await failure(videos.status(done.external_id))).kind is FailureKind.UNCLEAR


async def completed(videos: OpenAIVideos, world: Outside) -> str:
    done = await videos.create(ORDER, ONCE)
    world.finish_video(done.external_id)
    return done.external_id


async def test_a_file_over_the_limit_is_given_up_while_it_comes(videos: OpenAIVideos, world: Outside) -> None:
    video = await completed(videos, world)
    world.script("GET", "/v1/videos/*/content", {"garbage": "huge", "size": 64 * MIB})
    with pytest.raises(VideoUnfit) as caught:
        await videos.fetch(video, MIB)
    assert caught.value.reason is Unfit.TOO_LARGE
    assert len((await videos.fetch(video, MIB)).content) < MIB


@pytest.mark.parametrize(
    ("step", "status"),
    [("cut_before", None), ("cut_during", None), ({"status": 404}, 404), ({"status": 500}, 500)],
)
async def test_a_file_that_does_not_come_whole_is_a_failed_call(
    videos: OpenAIVideos, world: Outside, step: Any, status: int | None
) -> None:
    video = await completed(videos, world)
    world.script("GET", "/v1/videos/*/content", step)
    assert (await failure(videos.fetch(video, MIB))).status == status


async def test_no_log_line_holds_a_prompt_or_a_key(
    videos: OpenAIVideos, world: Outside, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    world.script("POST", "/v1/videos", "ok", {"status": 400}, {"garbage": "not_json"})
    await videos.create(ORDER, ONCE)
    for _ in range(2):
        await failure(videos.create(ORDER, ONCE))
    assert "marked-word" not in caplog.text
    assert KEY not in caplog.text
