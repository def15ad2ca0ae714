"""Heartbeats and silence, at the speed of a loop."""

import asyncio
from itertools import pairwise

from devhost.servicebus.liveness import Liveness


async def test_a_peer_that_stays_silent_is_given_up_once() -> None:
    gone = asyncio.Event()
    liveness = Liveness(lambda: None, gone.set)
    liveness.start(0.05, None)
    await asyncio.wait_for(gone.wait(), 60)
    liveness.stop()


async def test_beats_are_sent_only_while_nothing_else_is() -> None:
    beats: list[float] = []
    enough = asyncio.Event()

    def beat() -> None:
        beats.append(loop.time())
        liveness.said()
        if len(beats) == 3:
            enough.set()

    loop = asyncio.get_running_loop()
    liveness = Liveness(beat, lambda: None)
    liveness.start(60, 0.2)
    await asyncio.wait_for(enough.wait(), 60)
    liveness.stop()
    assert all(later - earlier >= 0.05 for earlier, later in pairwise(beats))


async def test_nothing_happens_after_the_end() -> None:
    happened: list[str] = []
    liveness = Liveness(lambda: happened.append("beat"), lambda: happened.append("gone"))
    liveness.start(0.01, 0.01)
    liveness.stop()
    await asyncio.sleep(0.1)
    assert happened == []
