"""What each task type may be told in its table of pipeline.toml, beside what every task has.

One model a task type; the modules of the tasks themselves are imported only where they run.
"""

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field

from shared.pipeline.task_options import TaskOptions
from shared.pipeline.values import Delay, DocumentSize, Host, ResultSize
from shared.sizes import KIB, MIB


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
    max_video: ResultSize = 50 * MIB
    submit_timeout: Delay = timedelta(seconds=60)
    """How long a creation may take; `attempt_timeout` must leave it that time."""
    key_window: Delay | None = None
    """How long the service honours an `Idempotency-Key` on a creation; None is that it takes none."""
    link_hosts: list[Host] = Field(default_factory=list, max_length=20)
    """Where links of the service's answers may lead; without any, files come from its own endpoint."""
    pass_callback_url: bool = False
    """Whether a creation names our callback URL (`callback_url`), for a service that takes it."""


TASK_OPTIONS: Mapping[str, type[TaskOptions]] = MappingProxyType(
    {"summarize_document": SummarizeDocumentOptions, "generate_video": GenerateVideoOptions}
)
"""Every task type there is."""
