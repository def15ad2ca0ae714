"""The table of each task type: what every task has, and the options of its own."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from pydantic import create_model

from shared.pipeline.sections import (
    BudgetSection,
    CurveSection,
    LimitsSection,
    PollSection,
    RetrySection,
    Section,
)
from shared.pipeline.task_options import TaskOptions
from shared.pipeline.values import AttemptTimeout, Delay
from shared.tasks.options import TASK_OPTIONS

DEFAULT_ATTEMPT_TIMEOUT = timedelta(minutes=2)


class TaskSection(Section):
    """What every task has."""

    attempt_timeout: AttemptTimeout = DEFAULT_ATTEMPT_TIMEOUT
    slow_after: Delay = timedelta(seconds=8)
    publish: Literal["at_once", "after_review"] = "at_once"
    retry: RetrySection = RetrySection()
    poll: PollSection = PollSection()
    budget: BudgetSection = BudgetSection()
    limits: LimitsSection = LimitsSection()


def _with_options(name: str, options: type[TaskOptions]) -> type[TaskSection]:
    bases: Any = (TaskSection, options)
    section: type[TaskSection] = create_model(name, __base__=bases)
    return section


TASK_SECTIONS: Mapping[str, type[TaskSection]] = {
    name: _with_options(name, options) for name, options in TASK_OPTIONS.items()
}
if TYPE_CHECKING:
    TasksSection = Section
else:
    TasksSection = create_model(
        "TasksSection",
        __base__=Section,
        **{name: (section | None, None) for name, section in TASK_SECTIONS.items()},
    )
    """One field for each task type there is."""

_PARTS: Mapping[str, type[Section]] = {
    "retry": RetrySection,
    "poll": PollSection,
    "budget": BudgetSection,
    "limits": LimitsSection,
}


def task_section_at(path: tuple[str | int, ...]) -> type[Section] | None:
    """The section at `path` below `tasks`."""
    match path:
        case ():
            return TasksSection
        case (str() as name,):
            return TASK_SECTIONS.get(name)
        case (str(), "retry" | "poll" | "budget" | "limits" as part):
            return _PARTS[part]
        case (str(), "retry" | "poll", "backoff"):
            return CurveSection
        case _:
            return None
