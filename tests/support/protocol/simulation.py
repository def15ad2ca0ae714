"""Random traces: deliveries, kills, zombies, outages, operators, time; then everything settles."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

from shared.failpoints import install
from tests.support.protocol.adversary import Adversary
from tests.support.protocol.checks import Broken, check_budgets, check_settled, check_told, demand
from tests.support.protocol.plan import DAY_TOKENS, JOB_TOKENS, Plan
from tests.support.protocol.stage import SPINS, TraceLoop

SETTLE_ROUNDS = 60
_MOST_CANCELS = 100
Move = Callable[[], Coroutine[Any, Any, object]]


class Simulation(Adversary):
    """One trace. `begin`, move by move, `settle`, and in the end, always, `end`."""

    def loop(self) -> TraceLoop:
        """The event loop that the trace wants to run on."""
        return TraceLoop(self.world.clock, timed=self.timed)

    def begin(self) -> None:
        install(self.at_point)

    async def move(self) -> None:
        """One move, drawn by its share; most often a running function goes one gate further."""
        plan, draw = self._plan, self._chance.random()
        self._broker.take_in()
        shares: list[tuple[float, Move]] = [
            (plan.webhooks, self.send_webhook),
            (0.08, self.deliver),
            (0.08, self.deliver_dead),
            (plan.sweeps, self.sweep),
            (plan.operators, self.operate),
            (plan.cancels, self.cancel),
            (plan.callbacks, self.call_back),
            (plan.time, self.pass_time),
            (plan.kills, self.kill),
            (plan.frozen, self.freeze),
            (0.01, self.lose_lock),
            (plan.expiries, self.expire),
            (0.005, self.copy),
            (0.1 if self.away else plan.outages / 4, self.toggle_outage),
        ]
        for share, move in shares:
            draw -= share
            if draw < 0:
                await move()
                return
        if not await self._step():
            await self._chance.choice([self.deliver, self.deliver_dead, self.pass_time])()

    def check(self) -> None:
        """Raises Broken if anything has broken so far."""
        if self._watcher.problems:
            raise Broken("; ".join(self._watcher.problems))

    async def settle(self) -> None:
        """No faults any more: everything is delivered, the sweep runs, time passes. Then all is checked."""
        self._note("--- settling")
        self.outside.calm = self.receiver.calm = True
        self._traps.clear()
        self.world.storage_down(False)
        self.world.bus.down = False
        await self._until_quiet()
        await check_settled(self.world, self._watcher.accepted, sweeping=self._plan.sweeps > 0)
        if self.told and self._plan.sweeps:
            await check_told(self.world)
        check_budgets(self.world, {"job": JOB_TOKENS, "day": DAY_TOKENS})
        demand(self._broker.empty, "messages are left over")
        self.outside.check(self.world.jobs.all_jobs())

    async def end(self) -> None:
        """Nothing of the trace runs any more."""
        install(None)
        for invocation in self._live:
            invocation.kill()
        for _ in range(SPINS):
            await asyncio.sleep(0)
        await _no_task_left()
        for task in [each.task for each in self._live if each.task is not None]:
            if not task.cancelled():
                task.exception()  # that nobody wants to know any more

    async def _until_quiet(self) -> None:
        for turn in range(SETTLE_ROUNDS):
            for invocation in self._live:
                invocation.frozen_until = None
            await self._work_off()
            if self._plan.sweeps:
                await self.sweep()
                await self._work_off()
            self.check()
            watched = self._plan.sweeps > 0 and bool(self.world.open.keys())
            quiet = not self._live and self._broker.empty and not watched
            if quiet and turn > 0:  # alerts wait for a second look
                return
            self._advance(300)
        raise Broken(
            f"nothing settles: open {self.world.open.keys()}, messages {len(self._broker.held)}, "
            f"running {[each.name for each in self._live]}"
        )

    async def _work_off(self) -> None:
        """Run and deliver whatever can run now."""
        await self._rest()
        for _ in range(5000):
            self._broker.take_in()
            if await self._step(calm=True):
                continue
            ready = self._broker.ready(dead=False) + self._broker.ready(dead=True)
            if not ready:
                return
            await self._take(ready)
            await self._rest()
        raise Broken("it never comes to rest")


async def _no_task_left() -> None:
    """Cancel what is left until it ends: what reacts to being cancelled may come to a gate once more."""
    cancels = 0
    while left := asyncio.all_tasks() - {asyncio.current_task()}:
        demand(cancels < _MOST_CANCELS, f"tasks that do not end: {left}")
        for task in left:
            task.cancel()
        await asyncio.sleep(0)
        cancels += 1


def simulate(seed: int, plan: Plan | None = None) -> Simulation:
    """Play the trace of `seed`. Raises Broken with the seed and the end of the trace."""
    simulation = Simulation(random.Random(seed), plan or Plan(), seed)

    async def play() -> None:
        simulation.begin()
        try:
            await simulation.send_webhook()
            for _ in range(simulation.moves):
                await simulation.move()
                simulation.check()
            await simulation.settle()
        finally:
            await simulation.end()

    try:
        with asyncio.Runner(loop_factory=simulation.loop) as runner:
            runner.run(play())
    except Broken as broken:
        raise Broken(f"seed {seed}: {broken}\n{simulation.told_so_far()}") from broken
    return simulation
