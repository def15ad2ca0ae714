"""Where an adversary holds the application: every port call and failpoint is a gate that it must open.

One function runs at a time, for one gate or a few, so a seed decides the whole interleaving. A killed
invocation runs nothing more: whatever part of it comes to a gate afterwards ends there.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, auto
from inspect import isasyncgenfunction, iscoroutinefunction
from typing import Any

from shared.errors import AfterhookError, Conflict
from tests.support.fakes import FakeClock
from tests.support.protocol.checks import demand

READS = (
    *("jobs.load", "jobs.rows", "jobs.row", "open.entries", "cases.get", "groups.unalerted"),
    *("blobs.info", "blobs.read", "breakers.load", "budgets.shards"),
    *("slots.slots", "slots.meter", "slots.place", "reviews.page"),
)
WRITES = (
    *("jobs.insert", "jobs.commit", "jobs.add_row", "jobs.replace_row"),
    *("open.put", "open.remove", "open.note_nudge", "reviews.put", "reviews.remove"),
    *("cases.file", "cases.decide", "groups.add", "groups.mark_alerted", "alerts.notify"),
    *("blobs.put_if_absent", "retention.put", "breakers.write", "budgets.write", "budgets.forget"),
    *("slots.take", "slots.advance", "slots.release", "slots.leave", "bus.send"),
)
"""What the protocol calls of its ports: no trace may call what is not listed here."""
CALLS = (*READS, *WRITES)
GATES = (*(f"before {name}" for name in CALLS), *(f"after {name}" for name in WRITES))
_current: ContextVar["Invocation"] = ContextVar("invocation")


class Killed(BaseException):
    """The process is gone: not an Exception, because nothing in it may react."""


class Verdict(Enum):
    GO = auto()
    FAIL = auto()  # an outage: the call, or only its answer, is lost
    CONFLICT = auto()  # the adapter repeated a commit whose answer was lost
    HOLD = auto()  # not now: it stays at this gate


@dataclass(eq=False, slots=True)
class Gate:
    name: str
    opened: "asyncio.Future[Verdict]"
    fallible: bool = False
    wake: datetime | None = None


@dataclass(eq=False, slots=True)
class Invocation:
    """One running function. `number` says which, in the order of their starts."""

    kind: str
    number: int
    started_at: datetime
    task: "asyncio.Task[Any] | None" = None
    gates: list[Gate] = field(default_factory=list)
    arrivals: int = 0  # at gates that held it, so far
    credit: int = 0  # gates it may pass without being held
    judge: "Judge | None" = None
    killed: bool = False
    frozen_until: datetime | None = None

    @property
    def name(self) -> str:
        return f"{self.kind}#{self.number}"

    @property
    def done(self) -> bool:
        assert self.task is not None
        return self.task.done()

    def start(self, coroutine: Any) -> None:
        async def run() -> Any:
            _current.set(self)
            await pass_gate("start")
            return await coroutine

        def closed(_: Any) -> None:
            coroutine.close()

        self.task = asyncio.get_running_loop().create_task(run())
        self.task.add_done_callback(closed)

    def kill(self) -> None:
        self.killed = True
        for gate in self.gates:
            if not gate.opened.done():
                gate.opened.set_result(Verdict.GO)


Judge = Callable[[Invocation, str, bool], Verdict]


def current() -> Invocation | None:
    return _current.get(None)


async def pass_gate(name: str, *, fallible: bool = False, wake: datetime | None = None) -> Verdict:
    """Wait until the adversary lets this invocation go on."""
    invocation = _current.get(None)
    if invocation is None:
        return Verdict.GO
    while True:
        if invocation.killed:
            raise Killed
        if invocation.credit > 0 and wake is None and invocation.judge is not None:
            invocation.credit -= 1
            verdict = invocation.judge(invocation, name, fallible)
        else:
            verdict = await _held(invocation, Gate(name, _future(), fallible, wake))
        if invocation.killed:
            raise Killed
        if verdict is not Verdict.HOLD:
            return verdict


def _future() -> "asyncio.Future[Verdict]":
    return asyncio.get_running_loop().create_future()


async def _held(invocation: Invocation, gate: Gate) -> Verdict:
    invocation.gates.append(gate)
    invocation.arrivals += 1
    try:
        return await gate.opened
    finally:
        invocation.gates.remove(gate)


class GatedClock(FakeClock):
    """Sleeping is a gate that opens no earlier than it should."""

    async def sleep(self, seconds: float) -> None:
        await pass_gate("sleep", wake=self.now() + timedelta(seconds=seconds))


Watch = Callable[[str, tuple[Any, ...]], None]


class Gated:
    """A port of the application with a gate before each call and, where it writes, after it.

    `after` is told of each effect, for the invariants.
    """

    def __init__(self, name: str, port: Any, unavailable: type[AfterhookError], after: Watch) -> None:
        self._name = name
        self._port = port
        self._unavailable = unavailable
        self._after = after

    def __getattr__(self, method: str) -> Any:
        found = getattr(self._port, method)
        if isasyncgenfunction(found):
            return self._listing(method, found)
        return self._call(method, found) if iscoroutinefunction(found) else found

    def _call(self, method: str, real: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        name = f"{self._name}.{method}"

        async def call(*args: Any, **kwargs: Any) -> Any:
            await self._fallible(f"before {name}")
            if name in READS:
                return await real(*args, **kwargs)
            demand(name in WRITES, f"{name} is called, and not listed")
            result = await real(*args, **kwargs)
            self._after(name, args)
            await self._fallible(f"after {name}", conflicts=method == "commit")
            return result

        return call

    def _listing(self, method: str, real: Callable[..., Any]) -> Callable[..., Any]:
        async def entries() -> Any:
            await self._fallible(f"before {self._name}.{method}")
            async for entry in real():
                yield entry

        return entries

    async def _fallible(self, name: str, *, conflicts: bool = False) -> None:
        verdict = await pass_gate(name, fallible=True)
        if verdict is Verdict.CONFLICT and conflicts:
            raise Conflict("the answer was lost and the commit repeated")
        if verdict is not Verdict.GO:
            raise self._unavailable("planted by the adversary")
