"""SIGKILLs of a real broker at random moments: what was confirmed holds, and nothing else is done."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.kills.ledger import MAX_DELIVERIES, State
from tests.broker.kills.links import QUEUE, TAKEN
from tests.broker.kills.nursery import Nursery, open_nursery
from tests.broker.kills.work import Books, Work
from tests.broker.raw import peer_at

pytestmark = [pytest.mark.broker, pytest.mark.kills, pytest.mark.timeout(240)]
ERAS, KILLS = 5, 10


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with open_nursery() as nursery:
        yield nursery


def arguments(folder: Path) -> list[str]:
    """A broker with the two queues of the work, over one folder."""
    properties = {"LockDuration": "PT5M", "MaxDeliveryCount": MAX_DELIVERIES}
    queues = [{"Name": name, "Properties": properties} for name in (QUEUE, TAKEN)]
    config = folder / "servicebus.json"
    config.write_text(json.dumps({"UserConfig": {"Namespaces": [{"Name": "tests", "Queues": queues}]}}))
    return ["--config", str(config), "--port", "0", "--data", str(folder / "data")]


async def work_until_killed(nursery: Nursery, command: list[str], books: Books, frames: int) -> None:
    """Kill it some milliseconds after it has said that much."""
    child = await nursery.fork(command)
    try:
        port = await child.ready()
        assert port is not None
        async with peer_at(port) as peer:
            work = Work(peer, books)
            await work.open()
            await work.check()
            enough = asyncio.Event()
            working = asyncio.create_task(work.run(enough, frames))
            reached = asyncio.create_task(enough.wait())
            await asyncio.wait([working, reached], return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(books.dice.uniform(0, 0.01))
            await child.kill()
            await working
    finally:
        await child.kill()


async def kill_while_starting(nursery: Nursery, command: list[str], seconds: float) -> None:
    child = await nursery.fork(command)
    await asyncio.sleep(seconds)
    await child.kill()


@pytest.mark.parametrize("seed", range(4))
async def test_fifty_kills_lose_nothing_confirmed_and_bring_nothing_back(
    nursery: Nursery, tmp_path: Path, seed: int
) -> None:
    """Every life begins with a look at what is there; some end before they have begun."""
    dice = random.Random(seed)
    eras = [await kill_often(nursery, tmp_path / f"{era}", dice) for era in range(ERAS)]
    assert all(sum(books.work.confirmed[state] for books in eras) > 0 for state in State)
    assert sum(books.work.confirmed.total() for books in eras) > 5 * KILLS * ERAS
    assert sum(books.taken.confirmed.total() for books in eras) > KILLS * ERAS


async def kill_often(nursery: Nursery, folder: Path, dice: random.Random) -> Books:
    """One database through many lives."""
    books = Books(dice)
    await asyncio.to_thread(folder.mkdir)
    command = arguments(folder)
    for _ in range(KILLS):
        if dice.random() < 0.2:
            await kill_while_starting(nursery, command, dice.uniform(0, 0.08))
        else:
            await work_until_killed(nursery, command, books, dice.randrange(150))
    await work_until_killed(nursery, command, books, 0)
    return books
