"""Random traces: deliveries, kills, zombies, outages, operators, time; then everything settles."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from shared.cancel import Cancellation, cancel
from shared.deadletters.close import close
from shared.deadletters.decisions import Decision
from shared.deadletters.handler import DeadLetterHandler
from shared.deadletters.reconcile import Outcome, Reconciliation, reconcile
from shared.deadletters.resubmit import Resubmission, resubmit
from shared.effects.records import latest, read_effect
from shared.errors import (
    QueueUnavailable,
    StorageUnavailable,
    TransientError,
)
from shared.failpoints import install
from shared.intake import Accepted
from shared.jobs import Job, JobState
from shared.ports import RowKind
from shared.sweep import Sweep
from shared.webhooks.base import Reply
from shared.worker.run import Worker
from tests.support.application import build_intake, build_services, note, webhook
from tests.support.protocol.broker import Held
from tests.support.protocol.checks import Broken, Watcher, check_settled, demand
from tests.support.protocol.effects import ModelOutside
from tests.support.protocol.gates import Gated, Killed, current, pass_gate
from tests.support.protocol.plan import MoodyTask, Plan
from tests.support.protocol.stage import SPINS, Stage

SETTLE_ROUNDS = 60


class Simulation(Stage):
    """One trace, decided by its seed."""

    def __init__(self, seed: int, plan: Plan) -> None:
        super().__init__(seed, plan.outages)
        self._plan = plan
        self.outside = ModelOutside(self._chance, plan.faults)
        self._task = MoodyTask(self._chance, self.outside, plan.effects)
        self._watcher = Watcher(self.world)
        self._services = build_services(self.world, self._task, **self._gated_ports())
        self._intake = build_intake(self._services)
        self.aimed_kills = 0

    def _gated_ports(self) -> dict[str, Any]:
        world = self.world
        ports = {
            "jobs": (world.jobs, "jobs", StorageUnavailable),
            "open_index": (world.open, "open", StorageUnavailable),
            "cases": (world.cases, "cases", StorageUnavailable),
            "groups": (world.groups, "groups", StorageUnavailable),
            "blobs": (world.blobs, "blobs", StorageUnavailable),
            "bus": (world.bus, "bus", QueueUnavailable),
            "alerts": (world.alerts, "alerts", TransientError),
        }
        watcher = self._watcher
        return {
            field: Gated(name, port, unavailable, watcher.before, watcher.after)
            for field, (port, name, unavailable) in ports.items()
        }

    async def run(self) -> None:
        """Play the trace, settle, check. Raises Broken."""

        async def hook(point: str) -> None:
            await pass_gate(point)
            invocation = current()
            wanted = point == self._plan.kill_at and not self.outside.calm
            if wanted and invocation is not None and self._chance.random() < 0.3:
                self.aimed_kills += 1
                self._end(invocation)
                raise Killed

        install(hook)
        try:
            for _ in range(self._plan.moves):
                await self._move()
                self._check()
            await self._settle()
        finally:
            install(None)
            for invocation in self._live:
                invocation.kill()
            for _ in range(SPINS):
                await asyncio.sleep(0)
        await check_settled(self.world, self._watcher.accepted, sweeping=self._plan.sweeps)
        demand(self._broker.empty, "messages are left over")
        self.outside.check(self.world.jobs.all_jobs())

    def _check(self) -> None:
        if self._watcher.problems:
            raise Broken("; ".join(self._watcher.problems))

    async def _move(self) -> None:
        """One move, drawn by its share; most often a running function goes one gate further."""
        plan, draw = self._plan, self._chance.random()
        self._broker.take_in()
        away = self.world.jobs.down or self.world.blobs.down or self.world.bus.down
        shares: list[tuple[float, Callable[[], Coroutine[Any, Any, object]]]] = [
            (plan.webhooks, self._send_webhook),
            (0.08, self._deliver),
            (0.08, self._deliver_dead),
            (0.01 if plan.sweeps else 0.0, self._sweep),
            (plan.operators, self._operate),
            (plan.cancels, self._cancel),
            (0.03, self._pass_time),
            (plan.kills, self._kill),
            (0.02, self._freeze),
            (0.01, self._lose_lock),
            (plan.expiries, self._expire),
            (0.005, self._copy),
            (0.1 if away else plan.outages / 4, self._toggle_outage),
        ]
        for share, move in shares:
            draw -= share
            if draw < 0:
                await move()
                return
        if not await self._step():
            await self._chance.choice([self._deliver, self._deliver_dead, self._pass_time])()

    # --- what the outside does

    async def _send_webhook(self) -> None:
        event = self._chance.randrange(self._plan.events)
        request = webhook(self.world, note(f"Text {event}."), event_id=f"evt_{event}")

        async def receive() -> None:
            receipts = await self._intake.receive("events", request)
            assert not isinstance(receipts, Reply)
            for receipt in receipts:
                if isinstance(receipt, Accepted):
                    self._watcher.accepted.add(receipt.job_id)

        await self._start("webhook", receive())

    async def _deliver(self) -> None:
        await self._take(self._broker.ready(dead=False))

    async def _deliver_dead(self) -> None:
        await self._take(self._broker.ready(dead=True))

    async def _take(self, ready: list[Held]) -> None:
        if not ready:
            return
        message = self._chance.choice(ready)
        lock = self._broker.deliver(message)
        if message.dead:
            handler = DeadLetterHandler(self._services)
            call = handler.handle(message.body, message.properties, message.sequence_number)
        else:
            call = Worker(self._services).handle(message.body, message.properties, message.message_id)
        invocation = await self._start("dead" if message.dead else "work", call)
        self._deliveries[invocation] = (message, lock)

    async def _sweep(self) -> None:
        await self._start("sweep", Sweep(self._services).run())

    async def _operate(self) -> None:
        dead = [job for job in self.world.jobs.all_jobs() if job.state is JobState.DEAD]
        jobs = dead if dead or self._chance.random() < 0.8 else self.world.jobs.all_jobs()
        if not jobs:
            await self._step()
            return
        job = self._chance.choice(jobs)
        key = self._chance.choice([None, f"key-{job.release}"])
        decision = Decision(operator="ada", reason="seen", idempotency_key=key)
        if job.open_effects and self._chance.random() < 0.8:
            await self._start("reconcile", self._reconcile(job, decision))
        elif self._chance.random() < 0.25:
            await self._start("close", close(self._services, job.job_id, decision))
        else:
            content = self._chance.choice([None, b"A better text."])
            at = self._chance.choice([None, self._clock.now() + timedelta(seconds=40)])
            wanted = Resubmission(content=content, at=at)
            await self._start("resubmit", resubmit(self._services, job.job_id, decision, wanted))

    async def _reconcile(self, job: Job, decision: Decision) -> None:
        """Somebody looks at the provider, and tells the truth."""
        action = self._chance.choice(job.open_effects)
        rows = await self.world.jobs.rows(job.job_id, RowKind.EFFECT)
        record = latest([read_effect(row) for row in rows], action)
        assert record is not None
        found = self.outside.found(record)
        wanted = Reconciliation(
            effect=action,
            outcome=Outcome.DONE if found else Outcome.NOT_DONE,
            external_id=found.external_id if found else None,
        )
        await reconcile(self._services, job.job_id, decision, wanted)

    async def _cancel(self) -> None:
        jobs = [job for job in self.world.jobs.all_jobs() if not job.final]
        if jobs:
            job = self._chance.choice(jobs)
            await self._start("cancel", self._ask_to_cancel(job.job_id))

    async def _ask_to_cancel(self, job_id: str) -> None:
        snapshot = await self._services.jobs.load(job_id)
        assert snapshot is not None
        await cancel(self._services, snapshot, Cancellation(reason="not needed"))

    # --- what the adversary does

    async def _pass_time(self) -> None:
        longest = self._chance.choice([2, 10, 40, 150])
        self._advance(self._chance.uniform(0, longest))

    async def _kill(self) -> None:
        if not self._live:
            return
        victims = self._live if self._chance.random() < 0.2 else [self._chance.choice(self._live)]
        for victim in list(victims):
            self._end(victim)
        await self._rest()

    async def _freeze(self) -> None:
        if self._live:
            workers = [each for each in self._live if each.kind == "work"]
            victim = self._chance.choice(workers or self._live)
            seconds = self._chance.choice([30, 100, 300])
            self._note(f"{victim.name} is frozen for {seconds} s at {[gate.name for gate in victim.gates]}")
            victim.frozen_until = self._clock.now() + timedelta(seconds=seconds)
            if self._chance.random() < 0.5:
                self._advance(95)  # longer than a lease

    async def _lose_lock(self) -> None:
        if self._deliveries:
            invocation = self._chance.choice(list(self._deliveries))
            message, lock = self._deliveries[invocation]
            self._note(f"{invocation.name} loses its lock")
            self._lost.add(invocation)
            self._broker.abandon(message, lock)

    async def _copy(self) -> None:
        ready = self._broker.ready(dead=False)
        if ready:
            message = self._chance.choice(ready)
            self._note(f"{message.message_id} is doubled")
            self._broker.copy(message)

    async def _expire(self) -> None:
        ready = self._broker.ready(dead=False)
        if ready:
            message = self._chance.choice(ready)
            self._note(f"{message.message_id} expires")
            self._broker.expire(message)

    async def _toggle_outage(self) -> None:
        world = self.world
        if world.jobs.down or world.blobs.down or world.bus.down:
            world.storage_down(False)
            world.bus.down = False
        else:
            kind = self._chance.choice(["storage", "blobs", "bus", "both"])
            world.storage_down(kind in {"storage", "both"})
            world.blobs.down = kind in {"storage", "blobs", "both"}
            world.bus.down = kind in {"bus", "both"}
        self._note(f"storage down: {self.world.jobs.down}, bus down: {self.world.bus.down}")

    # --- afterwards

    async def _settle(self) -> None:
        """No faults any more: everything is delivered, the sweep runs, time passes."""
        self._note("--- settling")
        self.outside.calm = True
        self.world.storage_down(False)
        self.world.bus.down = False
        for turn in range(SETTLE_ROUNDS):
            for invocation in self._live:
                invocation.frozen_until = None
            await self._work_off()
            if self._plan.sweeps:
                await self._sweep()
                await self._work_off()
            self._check()
            quiet = not self._live and self._broker.empty and not self._watched_rows()
            if quiet and turn > 0:  # alerts wait for a second look
                return
            self._advance(300)
        raise Broken(
            f"nothing settles: open {self.world.open.keys()}, messages {len(self._broker.held)}, "
            f"running {[each.name for each in self._live]}"
        )

    def _watched_rows(self) -> bool:
        return self._plan.sweeps and bool(self.world.open.keys())

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


async def simulate(seed: int, plan: Plan | None = None) -> None:
    """Play the trace of `seed`. Raises Broken with the seed and the end of the trace."""
    simulation = Simulation(seed, plan or Plan())
    try:
        await simulation.run()
    except Broken as broken:
        raise Broken(f"seed {seed}: {broken}\n{simulation.told()}") from broken
