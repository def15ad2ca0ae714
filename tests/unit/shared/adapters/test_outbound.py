"""Connections go only to addresses that were checked."""

import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from shared.adapters.outbound import checked_session, refused_as_private
from tests.support.lossy import refusing


class ScriptedResolver(AbstractResolver):
    """Answers each question with the next of `answers`, the last one again and again."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        self.asked += 1
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [
            ResolveResult(hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=0)
            for address in found
        ]

    async def close(self) -> None: ...


@pytest.fixture
async def server() -> AsyncIterator[int]:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=request.headers.get("Accept-Encoding", ""))

    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield runner.addresses[0][1]
    await runner.cleanup()


async def get(url: str, private: tuple[str, ...], resolver: ScriptedResolver) -> tuple[int, str]:
    async with (
        checked_session(private, seconds=5, connections=2, resolver=resolver) as session,
        session.get(url, allow_redirects=False) as response,
    ):
        return response.status, await response.text()


async def test_a_name_that_leads_to_a_private_address_is_not_connected_to(server: int) -> None:
    with pytest.raises(aiohttp.ClientConnectorError) as caught:
        await get(f"http://media.example.com:{server}/", (), ScriptedResolver(["127.0.0.1"]))
    assert refused_as_private(caught.value)


async def test_one_private_address_among_public_ones_is_enough_to_refuse(server: int) -> None:
    with pytest.raises(aiohttp.ClientConnectorError) as caught:
        await get(f"http://media.example.com:{server}/", (), ScriptedResolver(["8.8.8.8", "127.0.0.1"]))
    assert refused_as_private(caught.value)


async def test_a_host_of_the_setting_is_connected_to_and_resolved_once(server: int) -> None:
    resolver = ScriptedResolver(["127.0.0.1"], ["192.0.2.1"])
    private = (f"inner.example.com:{server}",)
    assert await get(f"http://inner.example.com:{server}/", private, resolver) == (200, "identity")
    assert resolver.asked == 1


async def test_another_failure_is_not_taken_for_a_private_address() -> None:
    with refusing() as port, pytest.raises(aiohttp.ClientConnectorError) as caught:
        await get(f"http://localhost:{port}/", ("localhost",), ScriptedResolver(["127.0.0.1"]))
    assert not refused_as_private(caught.value)
