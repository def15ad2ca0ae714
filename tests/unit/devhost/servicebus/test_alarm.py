from __future__ import annotations

import asyncio

from devhost.servicebus.alarm import Alarm
from tests.unit.devhost.servicebus.support import Clock


async def test_it_rings_at_the_time_set_last_and_once() -> None:
    clock, rung = Clock(), asyncio.Event()
    times: list[float] = []
    loop = asyncio.get_running_loop()

    def ring() -> None:
        times.append(loop.time())
        rung.set()

    alarm = Alarm(clock, ring)
    start = loop.time()
    alarm.set(clock.now + 1000)
    alarm.set(clock.now + 0.05)
    await asyncio.wait_for(rung.wait(), 60)
    assert times[0] - start >= 0.049
    assert len(times) == 1


async def test_a_time_gone_by_rings_at_once_and_none_never() -> None:
    clock, rung = Clock(), asyncio.Event()
    alarm = Alarm(clock, rung.set)
    alarm.set(clock.now - 5)
    alarm.set(None)
    await asyncio.sleep(0)
    assert not rung.is_set()
    alarm.set(clock.now - 5)
    await asyncio.wait_for(rung.wait(), 60)
    rung.clear()
    alarm.set(clock.now + 0.01)
    alarm.cancel()
    await asyncio.sleep(0.03)
    assert not rung.is_set()
