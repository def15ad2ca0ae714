"""OpenAI's own SDK against the outside."""

import asyncio
from collections.abc import AsyncIterator
from json import JSONDecodeError

import pytest
from openai import (
    APIConnectionError,
    APITimeoutError,
    AsyncAzureOpenAI,
    AsyncOpenAI,
    AuthenticationError,
    BadRequestError,
    InternalServerError,
    NotFoundError,
    RateLimitError,
)

from devhost.outside import Outside, steps
from devhost.outside.steps import Fault, Garbage, JsonStep
from tests.support.waiting import eventually

pytestmark = pytest.mark.filterwarnings("ignore:The Sora API is scheduled:DeprecationWarning")
VIDEOS = "/v1/videos"


@pytest.fixture
async def openai(outside: Outside) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=outside.openai_url, api_key="invented", max_retries=0) as client:
        yield client


async def complete(client: AsyncOpenAI) -> str | None:
    message = {"role": "user", "content": "What is a kettle?"}
    said = await client.chat.completions.create(model="m", messages=[message])  # type: ignore[list-item]  # a plain dict is one
    return said.choices[0].message.content


async def test_a_completion_has_content_and_usage(openai: AsyncOpenAI, outside: Outside) -> None:
    said = await openai.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "A kettle?"}]
    )
    assert said.choices[0].message.content == "In short: A kettle?"
    assert said.usage is not None
    assert said.usage.total_tokens == said.usage.prompt_tokens + said.usage.completion_tokens > 0
    assert outside.effects()["chat"].count == 1


async def test_embeddings_are_decoded(openai: AsyncOpenAI) -> None:
    answer = await openai.embeddings.create(model="m", input=["one", "two"], dimensions=16)
    assert [len(entry.embedding) for entry in answer.data] == [16, 16]
    assert answer.usage.prompt_tokens == 2


async def test_azures_client_is_answered_too(outside: Outside) -> None:
    async with AsyncAzureOpenAI(
        azure_endpoint=outside.url, api_version="2024-10-21", api_key="invented", max_retries=0
    ) as client:
        answer = await client.embeddings.create(model="mine", input="one")
    assert answer.model == "mine"


async def test_a_video_is_submitted_polled_listed_and_fetched(openai: AsyncOpenAI, outside: Outside) -> None:
    outside.configure(polls_queued=1, polls_in_progress=1)
    video = await openai.videos.create(prompt="a kettle", seconds="8", size="1280x720")
    assert (video.status, video.seconds, video.size) == ("queued", "8", "1280x720")
    seen = [(await openai.videos.retrieve(video.id)).status for _ in range(3)]
    assert seen == ["queued", "in_progress", "completed"]
    assert [listed.id async for listed in openai.videos.list(limit=1)] == [video.id]
    content = (await openai.videos.download_content(video.id)).content
    assert content[4:8] == b"ftyp"
    assert outside.effects()["video"].count == 1


async def test_the_sdk_walks_through_all_pages(openai: AsyncOpenAI) -> None:
    ids = [(await openai.videos.create(prompt=f"number {number}")).id for number in range(5)]
    assert [video.id async for video in openai.videos.list(limit=2)] == ids[::-1]


async def test_a_failed_creation_has_its_error(openai: AsyncOpenAI, outside: Outside) -> None:
    outside.script("POST", VIDEOS, {"creation_fails": "out_of_film"})
    outside.configure(polls_queued=0, polls_in_progress=0)
    video = await openai.videos.create(prompt="a kettle")
    ended = await openai.videos.retrieve(video.id)
    assert (ended.status, ended.error and ended.error.code) == ("failed", "out_of_film")


@pytest.mark.parametrize(
    ("step", "error", "happened"),
    [
        (steps.status(429, retry_after=3), RateLimitError, 0),
        (steps.status(503), InternalServerError, 0),
        (steps.status(500), InternalServerError, 0),
        (steps.status(500, after=True), InternalServerError, 1),
        (steps.status(400, code="moderation_blocked"), BadRequestError, 0),
        (steps.cut(Fault.CUT_BEFORE), APIConnectionError, 0),
        (steps.cut(Fault.CUT_BEFORE, reset=True), APIConnectionError, 0),
        (steps.cut(Fault.CUT_DURING), APIConnectionError, 1),
        (steps.cut(Fault.CUT_AFTER), APIConnectionError, 1),
        (steps.cut(Fault.CUT_AFTER, reset=True), APIConnectionError, 1),
    ],
)
async def test_a_fault_is_the_sdks_error_and_the_effect_is_counted_if_it_happened(
    openai: AsyncOpenAI, outside: Outside, step: JsonStep, error: type[Exception], happened: int
) -> None:
    outside.script("POST", VIDEOS, step)
    with pytest.raises(error) as failed:
        await openai.videos.create(prompt="a kettle")
    assert outside.effects()["video"].count == happened
    if isinstance(failed.value, RateLimitError):
        assert failed.value.response.headers["retry-after"] == "3"
    if isinstance(failed.value, BadRequestError):
        assert failed.value.code == "moderation_blocked"
    await openai.videos.create(prompt="a kettle")
    assert outside.effects()["video"].count == happened + 1


@pytest.mark.parametrize(("after", "happened"), [(False, 0), (True, 1)])
async def test_a_call_that_is_given_up_may_have_its_effect_all_the_same(
    openai: AsyncOpenAI, outside: Outside, after: bool, happened: int
) -> None:
    outside.script("POST", VIDEOS, steps.hold("submit", after=after))
    call = asyncio.ensure_future(openai.with_options(timeout=2).videos.create(prompt="a kettle"))
    await asyncio.to_thread(outside.wait_held, "submit")
    assert outside.effects()["video"].count == happened
    with pytest.raises(APITimeoutError):
        await call
    outside.release("submit")
    await asyncio.to_thread(eventually, lambda: outside.effects()["video"].count == 1, "the effect")


@pytest.mark.parametrize("kind", [Garbage.NOT_JSON, Garbage.EMPTY, Garbage.TRUNCATED, Garbage.ZEROS])
async def test_garbage_that_is_not_json_is_no_answer(
    openai: AsyncOpenAI, outside: Outside, kind: Garbage
) -> None:
    outside.script("POST", "/v1/chat/completions", steps.garbage(kind))
    with pytest.raises((JSONDecodeError, UnicodeDecodeError)):
        await complete(openai)
    assert outside.effects()["chat"].count == 1


async def test_garbage_of_another_shape_passes_for_an_answer(openai: AsyncOpenAI, outside: Outside) -> None:
    """The SDK checks no shapes: what uses it has to."""
    outside.script("POST", VIDEOS, *(steps.garbage(kind) for kind in (Garbage.WRONG_SHAPE, Garbage.HTML)))
    video = await openai.videos.create(prompt="a kettle")
    assert not hasattr(video, "id") or video.id is None
    assert isinstance(await openai.videos.create(prompt="a kettle"), str)


async def test_a_huge_answer_comes_in_pieces_and_without_a_length(
    openai: AsyncOpenAI, outside: Outside
) -> None:
    outside.configure(polls_queued=0, polls_in_progress=0)
    video = await openai.videos.create(prompt="a kettle")
    await openai.videos.retrieve(video.id)
    outside.script("GET", "/v1/videos/*/content", steps.garbage(Garbage.HUGE, size=3_000_000))
    async with openai.videos.with_streaming_response.download_content(video.id) as answer:
        assert "content-length" not in answer.headers
        assert sum([len(piece) async for piece in answer.iter_bytes()]) > 3_000_000


async def test_other_refusals_are_the_sdks_errors(openai: AsyncOpenAI) -> None:
    with pytest.raises(NotFoundError):
        await openai.videos.retrieve("video_unknown")
    with pytest.raises(BadRequestError) as refused:
        await openai.videos.create(prompt="a kettle", seconds="5")  # type: ignore[arg-type]  # that is the point
    assert refused.value.param == "seconds"
    with pytest.raises(AuthenticationError):
        await openai.videos.list(extra_headers={"Authorization": "Basic x"})
