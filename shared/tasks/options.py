"""What each task type may be told in its table of pipeline.toml, beside what every task has.

One model a task type; the modules of the tasks themselves are imported only where they run.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from shared.pipeline.values import DocumentSize
from shared.sizes import KIB, MIB


class TaskOptions(BaseModel):
    """The options of one task type; unknown keys are problems."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


class SummarizeDocumentOptions(TaskOptions):
    """Of `summarize_document`."""

    max_document: DocumentSize = 20 * MIB
    sentences: Annotated[int, Field(ge=1, le=50)] = 5


class GenerateVideoOptions(TaskOptions):
    """Of `generate_video`; what the input does not say of size and seconds is taken from here."""

    model: Annotated[str, Field(min_length=1, max_length=100)] = "sora-2"
    seconds: Literal["4", "8", "12"] = "4"
    size: Annotated[str, Field(pattern=r"^\d{2,5}x\d{2,5}$")] = "720x1280"
    max_prompt: DocumentSize = 32 * KIB
    max_video: DocumentSize = 50 * MIB


TASK_OPTIONS: Mapping[str, type[TaskOptions]] = MappingProxyType(
    {"summarize_document": SummarizeDocumentOptions, "generate_video": GenerateVideoOptions}
)
"""Every task type there is."""
