"""Posting to a real local server: what is sent, and what every kind of answer becomes."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from aiohttp import web
from multidict import CIMultiDict

from shared.adapters.posts import WebhookPosts
from shared.notify.posting import PostAnswer, PostFailed

PRIVATE = ("127.0.0.1", "localhost")
BODY = b'{"type":"job.dead"}'


class Receiver:
    """Counts posts; `/slow` never answers in time, `/endless` never stops answering."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, CIMultiDict[str], bytes]] = []
        self.released = asyncio.Event()
        self.port = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.seen.append((request.path, CIMultiDict(request.headers), await request.read()))
        match request.path:
            case "/slow":
                await self.released.wait()
            case "/cut":
                assert request.transport is not None
                request.transport.abort()
            case "/moved":
                return web.Response(status=307, headers={"Location": "/elsewhere"})
            case "/busy":
                return web.Response(status=429, headers={"Retry-After": "7"})
            case "/endless":
                return await self._endless(request)
        return web.Response(status=202, text="x" * 100_000)

    async def _endless(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while not self.released.is_set():
            try:
                await response.write(b"x" * 65536)
            except ConnectionError:
                break
        return response

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", receiver.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    receiver.port = runner.addresses[0][1]
    yield receiver
    receiver.released.set()
    await runner.cleanup()


@pytest.fixture
async def posts() -> AsyncIterator[WebhookPosts]:
    posts = WebhookPosts(PRIVATE, timeout=timedelta(seconds=2))
    yield posts
    await posts.aclose()


async def test_headers_and_body_arrive_as_they_are(receiver: Receiver, posts: WebhookPosts) -> None:
    headers = {"content-type": "application/json", "webhook-id": "job_a-0-dead"}
    assert await posts.post(receiver.url("/hook"), headers, BODY) == PostAnswer(status=202)
    [(path, seen, body)] = receiver.seen
    assert (path, body) == ("/hook", BODY)
    assert (seen["webhook-id"], seen["content-type"]) == ("job_a-0-dead", "application/json")


async def test_no_redirect_is_followed(receiver: Receiver, posts: WebhookPosts) -> None:
    assert (await posts.post(receiver.url("/moved"), {}, BODY)).status == 307
    assert [path for path, _, _ in receiver.seen] == ["/moved"]


async def test_the_wish_to_wait_is_read(receiver: Receiver, posts: WebhookPosts) -> None:
    answer = await posts.post(receiver.url("/busy"), {}, BODY)
    assert answer == PostAnswer(status=429, retry_after=timedelta(seconds=7))


async def test_an_answer_without_end_is_cut_off(receiver: Receiver, posts: WebhookPosts) -> None:
    assert (await posts.post(receiver.url("/endless"), {}, BODY)).status == 200


async def test_a_receiver_that_does_not_answer_is_left_in_time(receiver: Receiver) -> None:
    posts = WebhookPosts(PRIVATE, timeout=timedelta(seconds=0.2))
    try:
        with pytest.raises(PostFailed) as caught:
            await posts.post(receiver.url("/slow"), {}, BODY)
    finally:
        await posts.aclose()
    assert caught.value.reason == "timed_out"


async def test_a_cut_connection_is_no_answer(receiver: Receiver, posts: WebhookPosts) -> None:
    with pytest.raises(PostFailed) as caught:
        await posts.post(receiver.url("/cut"), {}, BODY)
    assert caught.value.reason == "no_answer"
    assert str(receiver.port) not in str(caught.value)


async def test_nobody_listening_is_no_answer(posts: WebhookPosts) -> None:
    with pytest.raises(PostFailed) as caught:
        await posts.post("http://127.0.0.1:1/", {}, BODY)
    assert caught.value.reason == "no_answer"


async def test_a_name_that_leads_to_a_private_address_is_not_connected_to(receiver: Receiver) -> None:
    posts = WebhookPosts((), timeout=timedelta(seconds=5))
    try:
        with pytest.raises(PostFailed) as caught:
            await posts.post(f"http://localhost:{receiver.port}/hook", {}, BODY)
    finally:
        await posts.aclose()
    assert (caught.value.reason, receiver.seen) == ("not_public", [])
