"""What the adversary does to the functions that run and the messages that lie in the queue."""

from enum import Enum, auto

from tests.support.protocol.broker import Held
from tests.support.protocol.gates import Killed, current, pass_gate
from tests.support.protocol.players import Players
from tests.support.protocol.stage import LONGER_THAN_A_LEASE, Trap


class Harm(Enum):
    """What can befall a function that runs, or a message that lies there."""

    KILL = auto()
    FREEZE = auto()
    LOSE_LOCK = auto()
    DOUBLE = auto()
    EXPIRE = auto()


class Adversary(Players):
    """Each of its moves may happen at any time."""

    _froze = False

    async def at_point(self, point: str) -> None:
        """A function has come to a failpoint: it may be aimed at."""
        await pass_gate(point)
        invocation = current()
        if invocation is None or self.outside.calm:
            return
        plan = self._plan
        if point in plan.kill_at and self._chance.random() < plan.aim:
            self.aimed_kills[point] += 1
            self._end(invocation, point)
            raise Killed
        if point in plan.freeze_at and not self._froze and self._chance.random() < plan.aim:
            self._froze = True
            invocation.credit = 0
            self._put_to_sleep(invocation, 2 * LONGER_THAN_A_LEASE)
            self._advance(LONGER_THAN_A_LEASE)
            await pass_gate(f"{point}, frozen")

    async def go_on(self, gates: int, *, last: bool = False) -> None:
        """A function that can, or the one that was started last, goes through its gate and `gates` more."""
        ready = self._open_gates()
        if last:
            ready = [(one, gate) for one, gate in ready if one is self._live[-1]][:1]
        if ready:
            invocation, gate = self._chance.choice(ready)
            await self._open(invocation, gate, gates)

    async def progress(self, gates: int) -> None:
        """What goes on by itself: a message is delivered, or a function runs, once something is due."""
        if not self._open_gates() and not self._messages():
            await self._wait()
        ready = self._messages()
        if ready and (not self._open_gates() or self._chance.random() < 0.3):
            await self._take(ready)
            await self.go_on(gates, last=True)
        else:
            await self.go_on(gates)

    def _messages(self) -> list[Held]:
        self._broker.take_in()
        return self._broker.ready(dead=False) + self._broker.ready(dead=True)

    async def _wait(self) -> None:
        """Until something is due; where nothing ever is, another event comes."""
        due = self._broker.next_due()
        due += [gate.wake for each in self._live for gate in each.gates if gate.wake is not None]
        due += [each.frozen_until for each in self._live if each.frozen_until is not None]
        later = [at for at in due if at > self._clock.now()]
        if later:
            self._advance((min(later) - self._clock.now()).total_seconds())
        else:
            await self.send_webhook(again=False)

    @property
    def busy(self) -> bool:
        """Whether any function runs."""
        return bool(self._live)

    def deliverable(self) -> bool:
        """Whether a message lies there that nobody holds."""
        return bool(self._messages())

    async def deliver_any(self) -> None:
        """One of those, dead or not."""
        await self._take(self._messages())

    def advance(self, seconds: float) -> None:
        """Time passes."""
        self._advance(seconds)

    def trap(self, gate: str, what: Trap) -> None:
        """What happens to the next function that comes to this gate."""
        self._traps[gate] = what

    async def harm(self, what: Harm) -> None:
        """At once, to one of those that run or to a message."""
        match what:
            case Harm.KILL:
                await self.kill()
            case Harm.FREEZE:
                await self.freeze()
            case Harm.LOSE_LOCK:
                await self.lose_lock()
            case Harm.DOUBLE:
                await self.copy()
            case Harm.EXPIRE:
                await self.expire()

    async def pass_time(self) -> None:
        longest = self._chance.choice([2, 10, 40, 150])
        self._advance(self._chance.uniform(0, longest))

    async def kill(self) -> None:
        if not self._live:
            return
        victims = self._live if self._chance.random() < 0.2 else [self._chance.choice(self._live)]
        for victim in list(victims):
            self._end(victim)
        await self._rest()

    async def freeze(self) -> None:
        if self._live:
            workers = [each for each in self._live if each.kind == "work"]
            victim = self._chance.choice(workers or self._live)
            self._put_to_sleep(victim, self._chance.choice([30, 100, 300]))
            if self._chance.random() < 0.5:
                self._advance(LONGER_THAN_A_LEASE)

    async def lose_lock(self) -> None:
        if self._deliveries:
            invocation = self._chance.choice(list(self._deliveries))
            message, lock = self._deliveries[invocation]
            self._note(f"{invocation.name} loses its lock")
            self._lost.add(invocation)
            self._broker.abandon(message, lock)

    async def copy(self) -> None:
        ready = self._broker.ready(dead=False)
        if ready:
            message = self._chance.choice(ready)
            self._note(f"{message.message_id} is doubled")
            self._broker.copy(message)

    async def expire(self) -> None:
        ready = self._broker.ready(dead=False)
        if ready:
            message = self._chance.choice(ready)
            self._note(f"{message.message_id} expires")
            self._broker.expire(message)

    @property
    def away(self) -> bool:
        """Whether an outage lasts."""
        return self.world.jobs.down or self.world.blobs.down or self.world.bus.down

    async def toggle_outage(self) -> None:
        world = self.world
        if self.away:
            world.storage_down(False)
            world.bus.down = False
        else:
            kind = self._chance.choice(["storage", "blobs", "bus", "both"])
            world.storage_down(kind in {"storage", "both"})
            world.blobs.down = kind in {"storage", "blobs", "both"}
            world.bus.down = kind in {"bus", "both"}
        self._note(f"storage down: {self.world.jobs.down}, bus down: {self.world.bus.down}")
