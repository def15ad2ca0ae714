"""What the engine's tests share."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from devhost.servicebus.engine import Engine
from devhost.servicebus.model import Incoming, Locked, QueuePolicy, QueueRef, SubQueue

QUEUE = QueueRef("Jobs")
DEAD = QueueRef("Jobs", SubQueue.DEADLETTER)


class Clock:
    """Epoch seconds that move only when told to."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    async def pass_by(self, seconds: float, engine: Engine) -> None:
        self.now += seconds
        await engine.advance()


async def send(engine: Engine, queue: QueueRef, *bodies: bytes, ttl_ms: int | None = None) -> list[int]:
    return await engine.enqueue(queue, [Incoming(body, ttl_ms=ttl_ms) for body in bodies])


async def take(engine: Engine, queue: QueueRef) -> Locked:
    """The one next message, under its lock."""
    found = await engine.receive(queue, 1)
    assert len(found) == 1
    return found[0]


async def bodies(engine: Engine, queue: QueueRef) -> list[bytes]:
    """The bodies of all messages in whatever state, in order."""
    return [message.body for message in await engine.peek(queue, 0, 1000)]


def contents(locks: Sequence[Locked]) -> list[bytes]:
    return [lock.message.body for lock in locks]


@contextlib.asynccontextmanager
async def running(policies: Sequence[QueuePolicy], folder: Path, clock: Clock) -> AsyncIterator[Engine]:
    """An engine on that folder, for the block."""
    engine = Engine(policies, folder, clock=clock)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()
