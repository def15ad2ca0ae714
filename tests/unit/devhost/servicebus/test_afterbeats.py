"""Empty frames after an answer, at the speed of a loop."""

import asyncio

from devhost.servicebus.afterbeats import BEATS, Afterbeats


class _Beats:
    """Counts, and tells when there were as many as were waited for."""

    def __init__(self) -> None:
        self.count = 0
        self._wanted = 0
        self._enough = asyncio.Event()

    def __call__(self) -> None:
        self.count += 1
        if self.count >= self._wanted:
            self._enough.set()

    async def reach(self, count: int) -> None:
        self._wanted = count
        self._enough.clear()
        if self.count < count:
            await asyncio.wait_for(self._enough.wait(), 60)


async def test_an_answer_is_followed_by_a_few_beats_and_then_silence() -> None:
    beats = _Beats()
    Afterbeats(beats).answered()
    assert beats.count == 0
    await beats.reach(BEATS)
    await asyncio.sleep(0.1)
    assert beats.count == BEATS


async def test_each_answer_begins_the_beats_again_but_they_do_not_add_up() -> None:
    beats = _Beats()
    afterbeats = Afterbeats(beats)
    for _ in range(100):
        afterbeats.answered()
    await beats.reach(2)
    before = beats.count
    afterbeats.answered()
    await beats.reach(before + BEATS)
    await asyncio.sleep(0.1)
    assert beats.count == before + BEATS


async def test_nothing_follows_once_the_connection_is_gone() -> None:
    beats = _Beats()
    afterbeats = Afterbeats(beats)
    afterbeats.answered()
    afterbeats.stop()
    await asyncio.sleep(0.1)
    assert beats.count == 0
