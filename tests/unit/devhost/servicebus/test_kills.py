"""SIGKILL of a real process at random moments, several times on one database."""

from __future__ import annotations

import asyncio
import random
import sys
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from devhost.servicebus.engine import Engine
from devhost.servicebus.model import Complete, Incoming, LockLostError, Stored
from tests.unit.devhost.servicebus import kill_child
from tests.unit.devhost.servicebus.kill_child import POLICIES, QUEUE

ROUNDS = 5


@dataclass
class Told:
    """What the killed processes confirmed."""

    sent: dict[str, int] = field(default_factory=dict)
    completed: set[str] = field(default_factory=set)
    uncertain: set[str] = field(default_factory=set)
    """Being settled at a kill: either end is right."""
    locks: dict[str, uuid.UUID] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def hear(self, line: str) -> None:
        word, name, *values = line.split()
        if word == "sent":
            self.sent[name] = int(values[0])
        elif word == "locked":
            self.locks[name], self.counts[name] = uuid.UUID(values[0]), int(values[1])
            self.uncertain.discard(name)
        elif word == "settling":
            self.uncertain.add(name)
            del self.locks[name]
        elif word == "completed":
            self.completed.add(name)
            self.uncertain.discard(name)
        else:
            self.counts[name] += 1
            self.uncertain.discard(name)


async def run_and_kill(folder: Path, seed: int, told: Told) -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", kill_child.__name__, str(folder), str(seed), stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    dice = random.Random(seed)
    try:
        assert await child.stdout.readline() == b"ready\n"
        for _ in range(dice.randrange(150)):
            told.hear((await child.stdout.readline()).decode())
        await asyncio.sleep(dice.uniform(0, 0.01))
    finally:
        child.kill()
        await child.wait()
    whole_lines = (await child.stdout.read()).decode().rpartition("\n")[0]
    for line in whole_lines.splitlines():
        told.hear(line)


async def every_message(engine: Engine) -> dict[str, Stored]:
    found: list[Stored] = []
    while page := await engine.peek(QUEUE, found[-1].sequence_number + 1 if found else 0, 1000):
        found += page
    return {str(message.message_id): message for message in found}


async def check(engine: Engine, told: Told) -> None:
    present = await every_message(engine)
    due = told.sent.keys() - told.completed - told.uncertain
    assert due - present.keys() == set(), "confirmed sends lost"
    assert told.completed & present.keys() == set(), "completed messages came back"
    for name in due:
        assert present[name].sequence_number == told.sent[name]
        assert present[name].body == name.encode() * (len(present[name].body) // len(name))
        if name in told.counts:
            assert present[name].delivery_count == told.counts[name]


async def settle_what_is_locked(engine: Engine, told: Told) -> None:
    """With the tokens a dead process was given."""
    for name, token in list(told.locks.items())[:20]:
        await engine.settle(QUEUE, token, Complete())
        with pytest.raises(LockLostError):
            await engine.settle(QUEUE, token, Complete())
        told.hear(f"settling {name}")
        told.hear(f"completed {name}")


async def send_again(engine: Engine, told: Told) -> None:
    """As a client does whose answer was lost: nothing is stored twice, no number given twice."""
    names = list(told.sent)[-20:]
    again = await engine.enqueue(QUEUE, [Incoming(b"again", name) for name in names])
    assert again == [told.sent[name] for name in names]
    name = uuid.uuid4().hex
    (number,) = await engine.enqueue(QUEUE, [Incoming(name.encode(), name)])
    assert number > max(told.sent.values(), default=0)
    told.hear(f"sent {name} {number}")


@pytest.mark.kills
@pytest.mark.parametrize("seed", range(4))
async def test_killed_at_any_moment_nothing_confirmed_is_lost_or_comes_back(
    tmp_path: Path, seed: int
) -> None:
    told = Told()
    settled = 0
    for number in range(ROUNDS):
        await run_and_kill(tmp_path, seed * ROUNDS + number, told)
        engine = Engine(POLICIES, tmp_path)
        await engine.start()
        try:
            await check(engine, told)
            settled += min(len(told.locks), 20)
            await settle_what_is_locked(engine, told)
            await send_again(engine, told)
        finally:
            await engine.stop()
    assert len(told.sent) > 100
    assert len(told.completed) > 5
    assert settled > 0
