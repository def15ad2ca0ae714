"""A task with a budget."""

from dataclasses import replace

from shared.pipeline import TaskPolicy
from shared.pipeline.policies import BudgetPolicy
from tests.support.application import TASK, pipeline


def policy(**limits: int) -> TaskPolicy:
    return replace(pipeline().tasks[TASK], budget=BudgetPolicy(**limits))
