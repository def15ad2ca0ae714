"""Downloads from links: where they may lead, how much may come, and what a failure is."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest
from aiohttp import web

from shared.adapters.downloads import AT_ONCE, LinkDownloads
from shared.calls.failures import CallFailed, FailureKind
from shared.video.errors import LinkRefused, Unfit, VideoUnfit

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
LIMIT = 100_000


class Server:
    """Answers every path with `handler`, and says which hosts its links have."""

    def __init__(self) -> None:
        self.handler: Handler = self.give
        self.paths: list[str] = []
        self.port = 0

    async def give(self, request: web.Request) -> web.StreamResponse:
        return web.Response(body=b"x" * 1000, content_type="video/mp4")

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.paths.append(request.path)
        return await self.handler(request)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def link(self, path: str = "/a.mp4") -> str:
        return f"http://{self.host}{path}"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made, app = Server(), web.Application()
    app.router.add_get("/{tail:.*}", made.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.port = runner.addresses[0][1]
    yield made
    await runner.cleanup()


@pytest.fixture
async def downloads(server: Server) -> AsyncIterator[LinkDownloads]:
    made = LinkDownloads([server.host], seconds=5)
    yield made
    await made.aclose()


async def test_a_file_comes_with_the_type_it_is_sent_as(downloads: LinkDownloads, server: Server) -> None:
    file = await downloads.fetch("videos", server.link("/a.mp4?sig=x"), hosts=(server.host,), max_bytes=LIMIT)
    assert (len(file.content), file.content_type) == (1000, "video/mp4")


@pytest.mark.parametrize(
    "link", ["https://evil.example.net/a.mp4", "http://169.254.169.254/x", "file:///etc/passwd", "x"]
)
async def test_a_link_out_of_the_contract_is_not_followed(
    downloads: LinkDownloads, server: Server, link: str
) -> None:
    with pytest.raises(LinkRefused) as caught:
        await downloads.fetch("videos", link, hosts=(server.host, "169.254.169.254:80"), max_bytes=LIMIT)
    assert link not in str(caught.value) or link == "x"


async def test_a_private_address_needs_the_setting(server: Server) -> None:
    downloads = LinkDownloads([])
    for host in (server.host, f"localhost:{server.port}"):
        with pytest.raises(LinkRefused):
            await downloads.fetch("videos", f"https://{host}/a.mp4", hosts=(host,), max_bytes=LIMIT)
    await downloads.aclose()
    assert server.paths == []


async def test_a_redirect_is_not_followed(downloads: LinkDownloads, server: Server) -> None:
    async def redirect(request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound("/elsewhere.mp4")

    server.handler = redirect
    with pytest.raises(CallFailed) as caught:
        await downloads.fetch("videos", server.link(), hosts=(server.host,), max_bytes=LIMIT)
    assert (caught.value.status, server.paths) == (302, ["/a.mp4"])


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (404, FailureKind.REJECTED),
        (403, FailureKind.REJECTED),
        (429, FailureKind.THROTTLED),
        (500, FailureKind.UNCLEAR),
    ],
)
async def test_an_error_is_a_failed_call_with_its_status(
    downloads: LinkDownloads, server: Server, status: int, kind: FailureKind
) -> None:
    async def refuse(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, headers={"Retry-After": "3"}, text="marked-word")

    server.handler = refuse
    with pytest.raises(CallFailed) as caught:
        await downloads.fetch("videos", server.link(), hosts=(server.host,), max_bytes=LIMIT)
    assert (caught.value.status, caught.value.kind) == (status, kind)
    assert caught.value.retry_after is not None
    assert caught.value.retry_after.total_seconds() == 3


@pytest.mark.parametrize("told", [True, False])
async def test_a_file_over_the_limit_is_given_up_whether_its_size_is_told_or_not(
    downloads: LinkDownloads, server: Server, told: bool
) -> None:
    sent = 0

    async def flood(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        if told:
            response.content_length = 2**40
        await response.prepare(request)
        while True:
            await response.write(b"x" * 65536)
            sent += 65536

    server.handler = flood
    with pytest.raises(VideoUnfit) as caught:
        await downloads.fetch("videos", server.link(), hosts=(server.host,), max_bytes=LIMIT)
    assert caught.value.reason is Unfit.TOO_LARGE
    assert sent < 64 * 1024 * 1024


async def test_a_file_that_is_cut_off_is_a_failed_call(downloads: LinkDownloads, server: Server) -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.content_length = 2000
        await response.prepare(request)
        await response.write(b"x" * 1000)
        assert request.transport is not None
        request.transport.close()
        return response

    server.handler = cut
    with pytest.raises(CallFailed) as caught:
        await downloads.fetch("videos", server.link(), hosts=(server.host,), max_bytes=LIMIT)
    assert caught.value.kind is FailureKind.UNCLEAR


async def test_a_host_that_hangs_is_given_up(server: Server) -> None:
    async def hang(request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    server.handler = hang
    downloads = LinkDownloads([server.host], seconds=2)
    with pytest.raises(CallFailed) as caught:
        await downloads.fetch("videos", server.link(), hosts=(server.host,), max_bytes=LIMIT)
    await downloads.aclose()
    assert caught.value.kind is FailureKind.UNCLEAR


async def test_a_host_that_is_not_there_was_sent_nothing(downloads: LinkDownloads, server: Server) -> None:
    host = "127.0.0.1:9"
    downloads = LinkDownloads([host])
    with pytest.raises(CallFailed) as caught:
        await downloads.fetch("videos", f"http://{host}/", hosts=(host,), max_bytes=LIMIT)
    await downloads.aclose()
    assert caught.value.kind is FailureKind.NOT_SENT


async def test_only_a_few_come_at_once(downloads: LinkDownloads, server: Server) -> None:
    running, most = 0, 0
    go_on = asyncio.Event()

    async def wait(request: web.Request) -> web.StreamResponse:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == AT_ONCE:
            go_on.set()
        await go_on.wait()
        running -= 1
        return web.Response(body=b"x")

    server.handler = wait

    async def fetch(number: int) -> None:
        async with downloads.slot(timedelta(seconds=30)) as free:
            assert free
            link = server.link(f"/{number}")
            await downloads.fetch("videos", link, hosts=(server.host,), max_bytes=LIMIT)

    await asyncio.gather(*(fetch(number) for number in range(6)))
    assert most == AT_ONCE


async def test_whoever_finds_no_slot_in_time_is_told_and_takes_none(downloads: LinkDownloads) -> None:
    soon = timedelta(milliseconds=1)
    async with AsyncExitStack() as held:
        for _ in range(AT_ONCE):
            assert await held.enter_async_context(downloads.slot(soon))
        async with downloads.slot(soon) as free:
            assert not free
    async with downloads.slot(soon) as one, downloads.slot(soon) as other, downloads.slot(soon) as third:
        assert (one, other, third) == (True, True, False)


async def test_a_compressed_answer_comes_as_it_is(downloads: LinkDownloads, server: Server) -> None:
    """So that a small one cannot become a large one; it is no video then."""

    async def squeeze(request: web.Request) -> web.StreamResponse:
        assert request.headers["Accept-Encoding"] == "identity"
        return web.Response(body=b"\x1f\x8b\x08\x00", headers={"Content-Encoding": "gzip"})

    server.handler = squeeze
    file = await downloads.fetch("videos", server.link(), hosts=(server.host,), max_bytes=LIMIT)
    assert file.content == b"\x1f\x8b\x08\x00"
