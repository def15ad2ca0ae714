"""What the options of every task type have in common; the types' own are in `shared.tasks.options`."""

from pydantic import BaseModel, ConfigDict


class TaskOptions(BaseModel):
    """The options of one task type; unknown keys are problems."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)
