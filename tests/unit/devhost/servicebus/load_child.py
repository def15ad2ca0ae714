"""Sends, receives and completes many messages; tells its rates and its growth of peak memory as JSON."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
import uuid
from pathlib import Path

from devhost.servicebus.engine import Engine
from devhost.servicebus.model import Complete, Incoming, QueuePolicy, QueueRef

QUEUE = QueueRef("q")
BODY = b"x" * 2000
CALLERS = 16
BATCH = 100


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def send_singly(engine: Engine, count: int) -> float:
    """Messages a second from callers that each wait for their answer."""

    async def caller() -> None:
        for _ in range(count // CALLERS):
            await engine.enqueue(QUEUE, [Incoming(BODY, str(uuid.uuid4()))])

    start = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    return count / (time.perf_counter() - start)


async def send_batches(engine: Engine, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count // BATCH):
        await engine.enqueue(QUEUE, [Incoming(BODY, str(uuid.uuid4())) for _ in range(BATCH)])
    return count / (time.perf_counter() - start)


async def drain(engine: Engine) -> tuple[int, float]:
    """How many were received and completed, and how many a second."""
    start, count = time.perf_counter(), 0
    while locks := await engine.receive(QUEUE, BATCH):
        await asyncio.gather(*(engine.settle(QUEUE, lock.token, Complete()) for lock in locks))
        count += len(locks)
    return count, count / (time.perf_counter() - start)


async def main(folder: Path, count: int) -> None:
    engine = Engine([QueuePolicy("q", duplicate_window_seconds=600)], folder)
    await engine.start()
    singly = await send_singly(engine, 3200)
    await send_batches(engine, 10_000)
    await drain(engine)
    before = peak_mib()
    batches = await send_batches(engine, count)
    drained, drain_rate = await drain(engine)
    await engine.stop()
    rates = {"singly_per_s": round(singly), "batches_per_s": round(batches), "drain_per_s": round(drain_rate)}
    print(json.dumps({"drained": drained, "growth_mib": round(peak_mib() - before, 1), **rates}))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
