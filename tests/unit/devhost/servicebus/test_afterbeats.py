"""Empty frames after an answer, at the speed of a loop."""

import asyncio

from devhost.servicebus.afterbeats import Afterbeats


async def test_an_answer_is_followed_by_a_few_beats_and_then_silence() -> None:
    beats: list[float] = []
    afterbeats = Afterbeats(lambda: beats.append(loop.time()))
    loop = asyncio.get_running_loop()
    begun = loop.time()
    afterbeats.answered()
    while loop.time() < begun + 5 and len(beats) < 8:
        await asyncio.sleep(0.005)
    await asyncio.sleep(0.05)
    assert len(beats) == 8
    assert beats[0] >= begun + 0.004


async def test_each_answer_begins_the_beats_again_but_does_not_add_up() -> None:
    beats: list[None] = []
    afterbeats = Afterbeats(lambda: beats.append(None))
    for _ in range(100):
        afterbeats.answered()
    while len(beats) < 4:
        await asyncio.sleep(0.001)
    before = len(beats)
    afterbeats.answered()
    await asyncio.sleep(0.3)
    assert len(beats) <= before + 8


async def test_nothing_follows_once_the_connection_is_gone() -> None:
    beats: list[None] = []
    afterbeats = Afterbeats(lambda: beats.append(None))
    afterbeats.answered()
    afterbeats.stop()
    await asyncio.sleep(0.05)
    assert beats == []
