"""What a trace may hold: the adversary's shares, and a task whose runs end as chance has it."""

import random
from dataclasses import dataclass

from shared.calls.calling import BudgetExceeded
from shared.errors import PermanentError, TransientError
from shared.failpoints import Point
from shared.tasks.base import TaskContext, TaskInput, TaskResult, Waiting
from tests.support.application import ScriptedTask
from tests.support.protocol.effects import CONTRACTS, ModelCall, ModelOutside


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the adversary may do; the figures are shares of its moves."""

    moves: int = 160
    events: int = 2
    webhooks: float = 0.02
    kills: float = 0.025
    outages: float = 0.02
    operators: float = 0.04
    expiries: float = 0.01
    cancels: float = 0.006
    effects: float = 0.5  # of the jobs: those that do something to the outside
    faults: float = 0.15  # of the calls to the outside
    sweeps: bool = True
    kill_at: Point | None = None  # besides chance, three times in ten that a function comes there


class MoodyTask(ScriptedTask):
    """Ends as chance has it; calm once the trace is over. Every run answers differently.

    Some jobs do three things to the outside first, and wait for it now and then.
    """

    def __init__(self, chance: random.Random, outside: ModelOutside, effects: float) -> None:
        super().__init__()
        self._chance = chance
        self._outside = outside
        self._effects = effects

    async def run(self, task_input: TaskInput, context: TaskContext) -> TaskResult | Waiting:
        if self._outside.acting.setdefault(context.job_id, self._chance.random() < self._effects):
            for contract in CONTRACTS:
                await context.effects.perform(contract, {"for": "this"}, ModelCall(self._outside, contract))
                if self._draw() < 0.2:
                    return Waiting("in_progress")
        draw = self._draw()
        error: Exception | None = None
        if draw < 0.25:
            error = TransientError("try again")
        elif draw < 0.4:
            error = PermanentError("cannot work")
        elif draw < 0.43:
            error = BudgetExceeded("spent")
        elif draw < 0.5:
            error = ValueError("a defect")
        if error is not None:
            self.script = [error]
        return await super().run(task_input, context)

    def _draw(self) -> float:
        return 1.0 if self._outside.calm else self._chance.random()
