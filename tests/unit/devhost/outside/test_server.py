"""The server's limits, in this process."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from devhost.outside import server as module
from devhost.outside.journal import Journal
from devhost.outside.posting import Sender
from devhost.outside.server import Server, serving
from devhost.outside.world import World
from devhost.ports import LOOPBACK

HOLD = {"method": "POST", "path": "/effects/blind", "steps": [{"hold": "here", "times": 2}]}


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    world = World(Journal(None), lambda: 0.0)
    async with (
        Sender(lambda: world.settings) as sender,
        serving(Server(world, sender), LOOPBACK, 0) as port,
        aiohttp.ClientSession(f"http://{LOOPBACK}:{port}") as client,
    ):
        yield client


async def happen(session: aiohttp.ClientSession) -> int:
    async with session.post("/effects/blind", json={}) as answer:
        return answer.status


async def test_what_is_too_much_at_once_is_refused_and_control_is_not(
    session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_CALLS", 2)
    async with session.put("/control/script", json=HOLD) as answer:
        assert answer.status == 200
    held = [asyncio.ensure_future(happen(session)) for _ in range(2)]
    while True:
        async with session.get("/control") as answer:
            if (await answer.json())["held"] == {"here": 2}:
                break
    assert await happen(session) == 503
    async with session.post("/control/release", json={"hold": "here"}) as answer:
        assert await answer.json() == {"released": 2}
    assert await asyncio.gather(*held) == [201, 201]
    assert await happen(session) == 201


async def test_a_fault_of_control_is_no_fault_of_scripts(session: aiohttp.ClientSession) -> None:
    script = {"method": "GET", "path": "/control/effects", "steps": ["cut_before"]}
    async with session.put("/control/script", json=script) as answer:
        assert answer.status == 200
    async with session.get("/control/effects") as answer:
        assert answer.status == 200
    async with session.get("/control/elsewhere") as answer:
        assert answer.status == 404


async def test_headers_that_come_twice_are_joined(session: aiohttp.ClientSession) -> None:
    headers = [("x-twice", "a"), ("x-twice", "b"), ("webhook-id", "m")]
    async with session.post("/callbacks", data=b"{}", headers=headers) as answer:
        assert (answer.status, await answer.read()) == (204, b"")
    async with session.get("/control/callbacks") as answer:
        (received,) = await answer.json()
    assert received["headers"]["x-twice"] == "a, b"
