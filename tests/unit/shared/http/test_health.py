"""`GET /health`."""

import asyncio

import pytest

from shared.http.health import Health
from tests.support.application import build_services
from tests.support.fakes import World


async def test_health_is_ok_while_storage_and_bus_answer(world: World) -> None:
    answer = await Health(build_services(world)).get()
    assert (answer.status, answer.body) == (200, b'{"status":"ok"}')


@pytest.mark.parametrize("away", ["storage", "bus"])
async def test_health_says_that_something_is_away_but_not_what(world: World, away: str) -> None:
    world.storage_down(away == "storage")
    world.bus.down = away == "bus"
    answer = await Health(build_services(world)).get()
    assert answer.status == 503
    assert b"storage" not in answer.body
    assert b"queue" not in answer.body


async def test_a_flood_of_probes_asks_at_most_every_five_seconds(world: World) -> None:
    health = Health(build_services(world))
    await asyncio.gather(*(health.get() for _ in range(100)))
    assert (world.jobs.calls, world.bus.calls) == (["load"], ["check"])
    world.storage_down()
    world.clock.advance(4.9)
    assert (await health.get()).status == 200
    world.clock.advance(0.1)
    assert (await health.get()).status == 503
