"""The stage of a trace: the functions that run, gate by gate, the messages they hold, and the time."""

import asyncio
from collections.abc import Coroutine
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any

from shared.deadletters.refusals import Refusal
from shared.errors import AfterhookError
from tests.support.fakes import FakeClock, FakeRandomness, World
from tests.support.fakes.time import START
from tests.support.protocol.broker import Held, ModelBroker
from tests.support.protocol.chance import Chance
from tests.support.protocol.checks import Broken, demand
from tests.support.protocol.gates import Gate, GatedClock, Invocation, Killed, Verdict
from tests.support.protocol.reach import Reach

HTTP = frozenset({"webhook", "callback", "resubmit", "close", "reconcile", "review", "cancel"})
HTTP_LIMIT = timedelta(seconds=230)  # the platform answers no later, and gives the request up
LONGEST_RUN = 60  # gates
PACES = (0.4, 0.15, 0.05)  # of the traces: in slow ones functions interleave more, in fast ones more happens
SPINS_A_GATE = 3
LONGER_THAN_A_LEASE = 95
SPINS = 8  # turns of the event loop after which whatever one gate let go has come to rest


class Trap(Enum):
    """What happens to the next function that comes to a gate."""

    KILL = auto()
    FREEZE = auto()  # for longer than its lease
    FAIL = auto()
    CONFLICT = auto()


class TraceLoop(asyncio.SelectorEventLoop):
    """An event loop whose timers run by the clock of the trace, or never, if it is not `timed`.

    With timers a process that was frozen finds first of all that its time is up; without them it goes on.
    """

    def __init__(self, clock: FakeClock, *, timed: bool) -> None:
        super().__init__()
        self._clock = clock
        self._timed = timed

    def time(self) -> float:
        return (self._clock.now() - START).total_seconds() if self._timed else 0.0


class Stage:
    """One thing happens at a time; `chance` decides which function takes the next step."""

    def __init__(self, chance: Chance, outages: float, seed: int = 0) -> None:
        self._chance = chance
        self._outages = outages
        self._pace = chance.choice(PACES)
        self._traps: dict[str, Trap] = {}
        self._clock = GatedClock()
        self.world = World(clock=self._clock, randomness=FakeRandomness(seed))
        self._broker = ModelBroker(self.world.bus, self._clock)
        self._live: list[Invocation] = []
        self._deliveries: dict[Invocation, tuple[Held, int]] = {}
        self._lost: set[Invocation] = set()
        self._started = 0
        self.reach = Reach()
        self._calm = False
        self._trace: list[tuple[datetime, str, Verdict]] = []

    def _advance(self, seconds: float) -> None:
        """Time passes; the locks of running functions are renewed meanwhile."""
        self._note(f"{seconds:.0f} s pass")
        while seconds > 0:
            self._clock.advance(min(seconds, 20.0))
            seconds -= 20.0
            now = self._clock.now()
            for invocation, (message, lock) in self._deliveries.items():
                frozen = invocation.frozen_until is not None and invocation.frozen_until > now
                if not invocation.killed and not frozen and invocation not in self._lost:
                    self._broker.renew(message, lock)
            self._broker.take_in()
        for invocation in list(self._live):
            if invocation.kind in HTTP and self._clock.now() - invocation.started_at > HTTP_LIMIT:
                self._end(invocation)

    def _put_to_sleep(self, invocation: Invocation, seconds: float) -> None:
        self._note(
            f"{invocation.name} is frozen for {seconds} s at {[gate.name for gate in invocation.gates]}"
        )
        invocation.frozen_until = self._clock.now() + timedelta(seconds=seconds)

    def _end(self, invocation: Invocation, *gates: str) -> None:
        """Kill it, at the gates that hold it if none are named."""
        names = gates or tuple(gate.name for gate in invocation.gates)
        self._note(f"{invocation.name} is killed at {list(names)}")
        if not invocation.killed:
            self.reach.kills.update(names)
        invocation.kill()

    def _open_gates(self) -> list[tuple[Invocation, Gate]]:
        now = self._clock.now()
        return [
            (invocation, gate)
            for invocation in self._live
            if invocation.frozen_until is None or invocation.frozen_until <= now
            for gate in invocation.gates
            if not gate.opened.done() and (gate.wake is None or gate.wake <= now)
        ]

    async def _step(self, *, calm: bool = False) -> bool:
        """Open one gate; False when there is none to open."""
        gates = self._open_gates()
        if not gates:
            return False
        self._calm = calm
        invocation, gate = self._chance.choice(gates)
        # Some functions are much faster than others.
        await self._open(invocation, gate, min(int(self._chance.expovariate(self._pace)), LONGEST_RUN))
        return True

    async def _open(self, invocation: Invocation, gate: Gate, credit: int) -> None:
        """Let it through this gate, and through `credit` more."""
        invocation.judge = self._judge
        invocation.credit = credit
        verdict = self._judge(invocation, gate.name, gate.fallible)
        if not gate.opened.done():
            gate.opened.set_result(verdict)
        await self._rest(invocation, SPINS + SPINS_A_GATE * credit)
        invocation.credit = 0

    def _judge(self, invocation: Invocation, gate: str, fallible: bool) -> Verdict:
        """What happens to the invocation at this gate."""
        verdict = Verdict.GO
        if gate in self._traps:
            verdict = self._spring(invocation, gate, fallible)
        elif fallible and self._outages and not self._calm and self._chance.random() < self._outages:
            verdict = self._chance.choice([Verdict.FAIL, Verdict.FAIL, Verdict.CONFLICT])
        self._note(f"{invocation.name}: {gate}", verdict)
        return verdict

    def _spring(self, invocation: Invocation, gate: str, fallible: bool) -> Verdict:
        match self._traps.pop(gate):
            case Trap.KILL:
                self._end(invocation, gate)
                return Verdict.GO
            case Trap.FREEZE:
                invocation.credit = 0
                self._put_to_sleep(invocation, 2 * LONGER_THAN_A_LEASE)
                self._advance(LONGER_THAN_A_LEASE)
                return Verdict.HOLD
            case Trap.FAIL:
                return Verdict.FAIL if fallible else Verdict.GO
            case Trap.CONFLICT:
                return Verdict.CONFLICT if fallible else Verdict.GO

    async def _rest(self, invocation: Invocation | None = None, spins: int = SPINS) -> None:
        """Let the event loop run until `invocation` is at its next gate, or everything is."""
        before = invocation.arrivals if invocation else 0
        for _ in range(spins):
            await asyncio.sleep(0)
            if invocation and (invocation.arrivals != before or invocation.done):
                break
        for invocation in [each for each in self._live if each.done]:
            self._live.remove(invocation)
            self._lost.discard(invocation)
            invocation.kill()  # no gate of what it left running opens any more
            self._finish(invocation)

    def _finish(self, invocation: Invocation) -> None:
        assert invocation.task is not None
        error = invocation.task.exception()
        delivery = self._deliveries.pop(invocation, None)
        self._note(f"{invocation.name} ends{f' with {error!r}' if error else ''}")
        if error is not None and not isinstance(error, Exception | Killed):
            raise error  # whoever gives the choices wants the trace to end
        if error is not None and not isinstance(error, AfterhookError | Killed):
            raise Broken(f"{invocation.name} failed with {error!r}") from error
        if delivery is None:
            return
        message, lock = delivery
        if error is None:
            self._broker.complete(message, lock)
        elif not isinstance(error, Killed):
            demand(not isinstance(error, Refusal), "a worker was refused")
            self._broker.abandon(message, lock)

    async def _start(self, kind: str, coroutine: Coroutine[Any, Any, Any]) -> Invocation:
        self._started += 1
        invocation = Invocation(kind, self._started, self._clock.now())
        invocation.start(coroutine)
        self._live.append(invocation)
        await self._rest(invocation)
        return invocation

    def _note(self, text: str, verdict: Verdict = Verdict.GO) -> None:
        self._trace.append((self._clock.now(), text, verdict))

    def told_so_far(self) -> str:
        """The trace so far, a line for each thing that happened."""
        return "\n".join(
            f"{at:%H:%M:%S} {text}{'' if verdict is Verdict.GO else f' ({verdict.name})'}"
            for at, text, verdict in self._trace
        )
