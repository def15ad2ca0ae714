"""A task whose runs end as chance has it: it does things to the outside, asks a model, waits, and fails."""

from datetime import timedelta

from shared.calls.calling import BudgetExceeded, MustWait, Usage
from shared.errors import OutcomeUnknownError, PermanentError, TransientError
from shared.tasks.base import TaskContext, TaskInput, TaskResult, Waiting
from tests.support.application import ScriptedTask
from tests.support.protocol.chance import Chance
from tests.support.protocol.effects import COST, ESTIMATE, MODEL, ORDERS, ModelCall, ModelOutside
from tests.support.protocol.gates import Invocation, current
from tests.support.protocol.plan import Plan

_MODEL_TIME = timedelta(seconds=20)


class MoodyTask(ScriptedTask):
    """Calm once the trace is over. Every run answers differently.

    Some jobs do three things to the outside first, and wait for it now and then. `waited` has the runs that
    ended with a wait: none of them may cost an attempt.
    """

    def __init__(self, chance: Chance, outside: ModelOutside, plan: Plan) -> None:
        super().__init__()
        self._chance = chance
        self._outside = outside
        self._plan = plan
        self.waited: set[Invocation | None] = set()

    async def run(self, task_input: TaskInput, context: TaskContext) -> TaskResult | Waiting:
        if context.callback_url is not None:
            self._outside.callbacks.add(context.callback_url.rsplit("/", 1)[-1])
        try:
            ended = await self._run(task_input, context)
        except (MustWait, OutcomeUnknownError):
            self.waited.add(current())
            raise
        if isinstance(ended, Waiting):
            self.waited.add(current())
        return ended

    async def _run(self, task_input: TaskInput, context: TaskContext) -> TaskResult | Waiting:
        if not await self._act(context):
            return Waiting("in_progress")
        if self._draw() < self._plan.effects / 2:
            await context.calls.run(
                MODEL, self._outside.ask_model, timeout=_MODEL_TIME, estimate=ESTIMATE, used=_cost
            )
        if self._draw() < self._plan.failures:
            self.script = [self._failure()]
        return await super().run(task_input, context)

    async def _act(self, context: TaskContext) -> bool:
        """Do what is to be done outside; False where the task waits for it."""
        wanted = self._outside.wanted
        if context.job_id not in wanted:
            acting = self._draw() < self._plan.effects
            wanted[context.job_id] = self._chance.choice(ORDERS) if acting else ()
        for contract in wanted[context.job_id]:
            while True:
                call = ModelCall(self._outside, contract)
                done = await context.effects.perform(contract, {"for": "this"}, call, estimate=ESTIMATE)
                if done.external_id not in self._outside.void:
                    break
                await context.effects.disprove(contract, "creation_failed")
                if self._draw() < 0.5:
                    raise TransientError("created in vain")
            if self._draw() < self._plan.waits:
                return False
        return True

    def _failure(self) -> Exception:
        draw = self._chance.random()
        if draw < 0.5:
            return TransientError("try again")
        if draw < 0.8:
            return PermanentError("cannot work")
        return BudgetExceeded("spent") if draw < 0.86 else ValueError("a defect")

    def _draw(self) -> float:
        return 1.0 if self._outside.calm else self._chance.random()


def _cost(_: object) -> Usage:
    return COST
