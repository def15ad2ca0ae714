"""A broker's queue at work, to be killed: every confirmed change is told on standard output, a line each."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from pathlib import Path

from devhost.servicebus.engine import Engine
from devhost.servicebus.model import Abandon, Complete, Incoming, QueuePolicy, QueueRef

POLICIES = [QueuePolicy("q", lock_seconds=300, max_delivery_count=1000, duplicate_window_seconds=600)]
QUEUE = QueueRef("q")


def tell(word: str, *values: object) -> None:
    os.write(1, " ".join([word, *map(str, values)]).encode() + b"\n")


async def send(engine: Engine, choice: random.Random) -> None:
    while True:
        names = [f"{choice.getrandbits(64):016x}" for _ in range(choice.randint(1, 5))]
        batch = [Incoming(name.encode() * choice.randint(1, 500), name) for name in names]
        numbers = await engine.enqueue(QUEUE, batch)
        for name, number in zip(names, numbers, strict=True):
            tell("sent", name, number)
        await asyncio.sleep(0.001)


async def work(engine: Engine, choice: random.Random) -> None:
    while True:
        for lock in await engine.receive(QUEUE, 3):
            name = lock.message.message_id
            tell("locked", name, lock.token, lock.message.delivery_count)
            disposition = choice.choice([Complete(), Complete(), Abandon(), None])
            if disposition is None:
                continue
            tell("settling", name)
            await engine.settle(QUEUE, lock.token, disposition)
            tell("completed" if disposition == Complete() else "abandoned", name)
        await asyncio.sleep(0)


async def main(folder: Path, seed: int) -> None:
    """Odd seeds copy the log into the database at nearly every commit, so that kills fall into that, too."""
    choice = random.Random(seed)
    engine = Engine(POLICIES, folder)
    await engine.start()
    if seed % 2:
        await engine._submit(lambda session: session.store._db.execute("PRAGMA wal_autocheckpoint = 4"))
    tell("ready")
    await asyncio.gather(*(send(engine, choice) for _ in range(4)), *(work(engine, choice) for _ in range(4)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
