"""What a trace may hold: the adversary's shares, and a task whose runs end as chance has it."""

import random
from dataclasses import dataclass

from shared.errors import OutcomeUnknownError, PermanentError, TransientError
from shared.failpoints import Point
from shared.tasks.base import TaskContext, TaskInput, TaskResult
from tests.support.application import ScriptedTask


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
    sweeps: bool = True
    kill_at: Point | None = None  # besides chance, three times in ten that a function comes there


class MoodyTask(ScriptedTask):
    """Ends as chance has it; calm once the trace is over. Every run answers differently."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self._chance = chance
        self.calm = False

    async def run(self, task_input: TaskInput, context: TaskContext) -> TaskResult:
        draw = 1.0 if self.calm else self._chance.random()
        error: Exception | None = None
        if draw < 0.25:
            error = TransientError("try again")
        elif draw < 0.4:
            error = PermanentError("cannot work")
        elif draw < 0.45:
            error = OutcomeUnknownError("nobody knows")
        elif draw < 0.5:
            error = ValueError("a defect")
        if error is not None:
            self.script = [error]
        return await super().run(task_input, context)
