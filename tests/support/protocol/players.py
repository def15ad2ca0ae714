"""Who plays in a trace besides the adversary: senders, the platform, providers that call back, operators."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from shared.callbacks import called_back
from shared.cancel import Cancellation, cancel
from shared.deadletters.close import close
from shared.deadletters.decisions import Decision
from shared.deadletters.handler import DeadLetterHandler
from shared.deadletters.reconcile import Outcome, Reconciliation, reconcile
from shared.deadletters.resubmit import Resubmission, resubmit
from shared.effects.records import latest, read_effect
from shared.errors import AfterhookError, QueueUnavailable, StorageUnavailable, TransientError
from shared.intake import Accepted
from shared.jobs import Job, JobState, Review
from shared.limits.breakers import Breakers
from shared.ports import RowKind
from shared.reviews import review
from shared.sweep import Sweep
from shared.webhooks.base import Reply
from shared.worker.run import Worker
from tests.support.application import SOURCE, TASK, build_intake, build_services, note, webhook
from tests.support.protocol.broker import Held
from tests.support.protocol.chance import Chance
from tests.support.protocol.effects import ModelOutside
from tests.support.protocol.gates import Gated
from tests.support.protocol.plan import SETTINGS, Plan, rules
from tests.support.protocol.receiver import ModelReceiver
from tests.support.protocol.stage import Stage
from tests.support.protocol.task import MoodyTask
from tests.support.protocol.watcher import Watcher


class Players(Stage):
    """The application on its stage, and what the outside does with it; each move is drawn from `chance`."""

    def __init__(self, chance: Chance, plan: Plan, seed: int = 0) -> None:
        super().__init__(chance, plan.outages, seed)
        self._plan = plan
        self.moves = plan.moves
        self.timed = chance.random() < plan.timed
        self._events = 0
        self.aimed_kills: Counter[str] = Counter()
        self._rules = rules(plan, chance)
        job = self.world.jobs.job
        self.outside = ModelOutside(chance, plan.faults, plan.void, job)
        self.receiver = ModelReceiver(chance, 2 * plan.faults, job, lambda: self._started)
        task = MoodyTask(chance, self.outside, plan)
        attempts = self._rules.tasks[TASK].retry.attempts
        self._watcher = Watcher(self.world, self.outside, self.receiver, attempts, task.waited)
        self._services = build_services(
            self.world,
            task,
            pipeline=self._rules,
            settings=SETTINGS,
            notifier=self.receiver,
            **self._gated_ports(),
        )
        self._intake = build_intake(self._services)

    def jobs(self) -> list[Job]:
        """All jobs as they were written last."""
        return sorted(self._watcher.jobs.values(), key=lambda job: job.job_id)

    @property
    def told(self) -> bool:
        """Whether the source is told how its jobs end."""
        return self._rules.sources[SOURCE].notify is not None

    def _gated_ports(self) -> dict[str, Any]:
        world = self.world

        def after(name: str, args: tuple[Any, ...]) -> None:
            self._watcher.after(name, args)
            self.reach.after(name, args)

        def gated(name: str, port: Any, unavailable: type[AfterhookError] = StorageUnavailable) -> Gated:
            return Gated(name, port, unavailable, after)

        breakers: Any = gated("breakers", world.breakers)
        return {
            "jobs": gated("jobs", world.jobs),
            "open_index": gated("open", world.open),
            "cases": gated("cases", world.cases),
            "groups": gated("groups", world.groups),
            "reviews": gated("reviews", world.reviews),
            "blobs": gated("blobs", world.blobs),
            "retention": gated("retention", world.retention),
            "budgets": gated("budgets", world.budgets),
            "slots": gated("slots", world.slots),
            "breakers": Breakers(breakers, world.clock, world.randomness),
            "bus": gated("bus", world.bus, QueueUnavailable),
            "alerts": gated("alerts", world.alerts, TransientError),
        }

    async def send_webhook(self, *, again: bool = True) -> None:
        """One of the plan's events, which may have come before, or, if not `again`, one that has not."""
        event = self._chance.randrange(self._plan.events) if again else self._events
        self._events = max(self._events, event + 1)
        request = webhook(self.world, note(f"Text {event}."), event_id=f"evt_{event}")

        async def receive() -> None:
            receipts = await self._intake.receive("events", request)
            assert not isinstance(receipts, Reply)
            for receipt in receipts:
                if isinstance(receipt, Accepted):
                    self._watcher.accepted.add(receipt.job_id)

        await self._start("webhook", receive())

    async def deliver(self) -> None:
        await self._take(self._broker.ready(dead=False))

    async def deliver_dead(self) -> None:
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
            self.reach.delivered(message)
            call = Worker(self._services).handle(message.body, message.properties, message.message_id)
        invocation = await self._start("dead" if message.dead else "work", call)
        self._deliveries[invocation] = (message, lock)

    async def sweep(self) -> None:
        await self._start("sweep", Sweep(self._services).run())

    async def call_back(self) -> None:
        tokens = sorted(self.outside.callbacks)
        if tokens:
            await self._start("callback", called_back(self._services, self._chance.choice(tokens)))

    # --- operators

    async def operate(self) -> None:
        """A decision on one of the dead, on a result to review, or now and then where none is due."""
        jobs = self.world.jobs.all_jobs()
        due = [job for job in jobs if job.state is JobState.DEAD or job.review is Review.PENDING]
        if not due and self._chance.random() < 0.8:
            return
        job = self._chance.choice(due or jobs) if jobs else None
        if job is None:
            return
        if job.review is not None:
            await self.review(job)
        elif job.open_effects and self._chance.random() < 0.8:
            await self.reconcile(job)
        elif self._chance.random() < self._plan.closes:
            await self.close(job)
        else:
            await self.resubmit(job)

    def _decision(self, job: Job) -> Decision:
        key = self._chance.choice([None, f"key-{job.release}"])
        return Decision(operator="ada", reason="seen", idempotency_key=key)

    async def close(self, job: Job) -> None:
        await self._start("close", close(self._services, job.job_id, self._decision(job)))

    async def resubmit(self, job: Job) -> None:
        content = self._chance.choice([None, b"A better text."])
        at = self._chance.choice([None, self._clock.now() + timedelta(seconds=40)])
        wanted = Resubmission(content=content, at=at)
        await self._start("resubmit", resubmit(self._services, job.job_id, self._decision(job), wanted))

    async def review(self, job: Job) -> None:
        verdict = self._chance.choice([Review.APPROVED, Review.REJECTED])
        await self._start("review", review(self._services, job.job_id, self._decision(job), verdict))

    async def reconcile(self, job: Job) -> None:
        await self._start("reconcile", self._reconcile(job, self._decision(job)))

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

    async def cancel(self, *states: JobState) -> None:
        """A job in one of these states, or any that has not ended."""
        job = self._any_job(lambda job: job.state in states if states else not job.final)
        if job is not None:
            await self._start("cancel", self._ask_to_cancel(job.job_id))

    def _any_job(self, wanted: Callable[[Job], bool]) -> Job | None:
        jobs = [job for job in self.jobs() if wanted(job)]
        return self._chance.choice(jobs) if jobs else None

    async def _ask_to_cancel(self, job_id: str) -> None:
        snapshot = await self._services.jobs.load(job_id)
        assert snapshot is not None
        await cancel(self._services, snapshot, Cancellation(reason="not needed"))
