"""The engine against a plain model of a queue, under random operations, clock steps and restarts."""

from __future__ import annotations

import asyncio
import tempfile
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from devhost.servicebus.engine import Engine
from devhost.servicebus.model import (
    Abandon,
    Complete,
    DeadLetter,
    Defer,
    Disposition,
    Incoming,
    LockLostError,
    MessageNotFoundError,
    QueuePolicy,
    Release,
)
from tests.unit.devhost.servicebus.support import DEAD, QUEUE, Clock

T = TypeVar("T")
LOCK, LIMIT, WINDOW = 10, 3, 15
POLICY = QueuePolicy(
    "Jobs", LOCK, LIMIT, None, dead_letter_on_expiration=True, duplicate_window_seconds=WINDOW
)


@dataclass
class Message:
    body: bytes
    number: int
    state: str
    ttl: int | None
    expires: float | None
    starts: float = 0
    count: int = 0
    token: uuid.UUID | None = None
    lock_ends: float = 0

    def due(self) -> float | None:
        if self.token:
            return self.lock_ends
        return {"active": self.expires, "scheduled": self.starts, "deferred": None}[self.state]


class Model:
    """Two lists and a clock."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0
        self.main: list[Message] = []
        self.dead: list[tuple[bytes, int, str | None]] = []
        self.next_number = 1
        self.ids: dict[str, tuple[int, float]] = {}

    def send(self, body: bytes, name: str | None, ttl: int | None, delay: int) -> int:
        if name in self.ids and self.now < self.ids[name][1] + WINDOW:
            return self.ids[name][0]
        number = self.number()
        expires = None if ttl is None or delay else self.now + ttl
        state = "scheduled" if delay else "active"
        self.main.append(Message(body, number, state, ttl, expires, self.now + delay))
        if name is not None:
            self.ids[name] = (number, self.now)
        self.step(0)
        return number

    def number(self) -> int:
        self.next_number += 1
        return self.next_number - 1

    def ready(self) -> list[Message]:
        return [message for message in self.main if message.state == "active" and not message.token]

    def holder(self, token: uuid.UUID) -> Message | None:
        return next((message for message in self.main if message.token == token), None)

    def numbers(self, state: str) -> list[int]:
        return [message.number for message in self.main if message.state == state]

    def bury(self, message: Message, reason: str | None) -> None:
        self.main.remove(message)
        self.dead.append((message.body, message.count, reason))

    def fail(self, message: Message, *, counted: bool) -> None:
        message.token = None
        message.count += counted
        if counted and message.count >= LIMIT:
            self.bury(message, "MaxDeliveryCountExceeded")
        elif message.state == "active" and message.expires is not None and message.expires <= self.now:
            self.bury(message, "TTLExpiredException")

    def step(self, seconds: int) -> None:
        self.now += seconds
        due = [message for message in self.main if (at := message.due()) is not None and at <= self.now]
        for message in sorted(due, key=lambda message: (message.due(), message.number)):
            if message.token:
                self.fail(message, counted=True)
            elif message.state == "scheduled":
                message.state, message.number = "active", self.number()
                message.expires = None if message.ttl is None else self.now + message.ttl
                self.main.remove(message)
                self.main.append(message)
            else:
                self.bury(message, "TTLExpiredException")


def some(state: str) -> Callable[[Any], bool]:
    """True while the model has messages in that state."""
    return lambda machine: bool(machine.model.numbers(state))


class EngineMachine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = Clock()
        self.model = Model()
        self.tokens: list[uuid.UUID] = []
        self.bodies = 0
        self.open()

    def open(self) -> None:
        self.engine = Engine([POLICY], Path(self.folder.name), clock=self.clock)
        self.run(self.engine.start)

    def run(self, call: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> T:
        return self.runner.run(call(*args))

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.run(self.engine.stop)
            self.runner.close()
            self.folder.cleanup()

    @rule(
        name=st.sampled_from([None, None, "a", "b", "c"]),
        ttl=st.sampled_from([None, None, 5, 25]),
        delay=st.sampled_from([0, 0, 0, 5, 12]),
    )
    def send(self, name: str | None, ttl: int | None, delay: int) -> None:
        self.bodies += 1
        body = b"%d" % self.bodies
        ttl_ms = None if ttl is None else ttl * 1000
        incoming = Incoming(body, name, ttl_ms, self.clock.now + delay if delay else None)
        assert self.run(self.engine.enqueue, QUEUE, [incoming]) == [self.model.send(body, name, ttl, delay)]

    @precondition(lambda self: self.model.ready())
    @rule(limit=st.integers(1, 3))
    def receive(self, limit: int) -> None:
        expected = self.model.ready()[:limit]
        locks = self.run(self.engine.receive, QUEUE, limit)
        assert [lock.message.body for lock in locks] == [message.body for message in expected]
        for lock, message in zip(locks, expected, strict=True):
            message.token, message.lock_ends = lock.token, self.model.now + LOCK
            self.tokens.append(lock.token)

    def token(self, pick: int) -> uuid.UUID:
        """Mostly one that holds a lock, now and then an old one."""
        holding = [message.token for message in self.model.main if message.token]
        known = holding if holding and pick else self.tokens
        return known[pick % len(known)]

    @precondition(lambda self: self.tokens)
    @rule(
        pick=st.integers(0, 5),
        disposition=st.sampled_from(
            [Complete(), Abandon(), Abandon(), Release(), Release(), Defer(), DeadLetter("unfit")]
        ),
    )
    def settle(self, pick: int, disposition: Disposition) -> None:
        token = self.token(pick)
        message = self.model.holder(token)
        try:
            self.run(self.engine.settle, QUEUE, token, disposition)
        except LockLostError:
            assert message is None
            return
        assert message is not None
        match disposition:
            case Complete():
                self.model.main.remove(message)
            case DeadLetter(reason):
                self.model.bury(message, reason)
            case Defer():
                message.token, message.state = None, "deferred"
                message.count += 1
            case _:
                self.model.fail(message, counted=disposition == Abandon())

    @precondition(lambda self: self.tokens)
    @rule(pick=st.integers(0, 5))
    def renew(self, pick: int) -> None:
        token = self.token(pick)
        message = self.model.holder(token)
        try:
            self.run(self.engine.renew, QUEUE, [token])
        except LockLostError:
            assert message is None
        else:
            assert message is not None
            message.lock_ends = self.model.now + LOCK

    @precondition(some("deferred"))
    @rule(pick=st.integers(0, 9))
    def fetch_deferred(self, pick: int) -> None:
        number = self.numbered("deferred", pick)
        message = next((message for message in self.model.main if message.number == number), None)
        fit = message if message and message.state == "deferred" and not message.token else None
        if fit and fit.expires is not None and fit.expires <= self.model.now:
            self.model.bury(fit, "TTLExpiredException")
            fit = None
        try:
            (lock,) = self.run(self.engine.receive_deferred, QUEUE, [number])
        except MessageNotFoundError:
            assert fit is None
        else:
            assert fit is not None
            fit.token, fit.lock_ends = lock.token, self.model.now + LOCK
            self.tokens.append(lock.token)

    @precondition(some("scheduled"))
    @rule(pick=st.integers(0, 5))
    def cancel(self, pick: int) -> None:
        number = self.numbered("scheduled", pick)
        message = next((message for message in self.model.main if message.number == number), None)
        fit = message if message and message.state == "scheduled" else None
        try:
            self.run(self.engine.cancel_scheduled, QUEUE, [number])
        except MessageNotFoundError:
            assert fit is None
        else:
            assert fit is not None
            self.model.main.remove(fit)

    def numbered(self, state: str, pick: int) -> int:
        """Mostly the number of a message in that state, now and then of any or none."""
        numbers = self.model.numbers(state)
        return numbers[pick % len(numbers)] if pick else self.model.next_number // 2

    @rule(seconds=st.sampled_from([1, 3, 5, 10]))
    def pass_time(self, seconds: int) -> None:
        self.model.step(seconds)
        self.run(self.clock.pass_by, seconds, self.engine)

    @precondition(lambda self: self.bodies % 5 == 4)
    @rule()
    def restart(self) -> None:
        self.run(self.engine.stop)
        self.open()

    @invariant()
    def the_engine_holds_what_the_model_holds(self) -> None:
        if not hasattr(self, "engine"):
            return
        main = self.run(self.engine.peek, QUEUE, 0, 1000)
        assert [(m.body, m.sequence_number, m.state.name.lower(), m.delivery_count) for m in main] == [
            (m.body, m.number, m.state, m.count) for m in self.model.main
        ]
        dead = self.run(self.engine.peek, DEAD, 0, 1000)
        assert [
            (m.body, m.delivery_count, m.dead_letter.reason if m.dead_letter else "?") for m in dead
        ] == self.model.dead
        assert [m.sequence_number for m in dead] == list(range(1, len(dead) + 1))


TestEngineMachine = EngineMachine.TestCase
TestEngineMachine.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
