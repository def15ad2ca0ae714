"""Nudges, and holding on while the bus is away."""

from datetime import timedelta

import pytest

from shared.errors import QueueUnavailable
from shared.messages import JobMessage
from shared.nudges import hold_while_bus_is_away, nudge, nudge_or_hold
from tests.support.application import build_services, new_job
from tests.support.fakes import World


async def test_nudges_of_one_turn_are_never_duplicates() -> None:
    world = World()
    message = JobMessage.for_job(new_job(world))
    await build_services(world).bus.send(message)
    for _ in range(3):
        await nudge(build_services(world), message)
    assert [sent.dropped for sent in world.bus.sent] == [False] * 4
    assert {sent.message for sent in world.bus.sent} == {message}


async def test_the_pauses_grow_and_have_an_end() -> None:
    world = World()
    world.bus.down = True
    world.randomness.next_fractions = [0.999] * 20
    with pytest.raises(QueueUnavailable):
        await nudge_or_hold(build_services(world), JobMessage.for_job(new_job(world)))
    assert world.clock.slept[:4] == sorted(world.clock.slept[:4])
    assert max(world.clock.slept) <= 15
    assert 40 < sum(world.clock.slept) <= 60


async def test_only_an_absent_bus_is_held_for() -> None:
    world = World()

    async def send() -> None:
        raise ValueError("a defect")

    with pytest.raises(ValueError, match="a defect"):
        await hold_while_bus_is_away(build_services(world), send)
    assert world.clock.slept == []


async def test_a_nudge_is_delayed_to_its_time() -> None:
    world = World()
    at = world.clock.now() + timedelta(seconds=30)
    await nudge(build_services(world), JobMessage.for_job(new_job(world)), at)
    assert world.bus.take_due() == []
    world.clock.advance(30)
    assert len(world.bus.take_due()) == 1
