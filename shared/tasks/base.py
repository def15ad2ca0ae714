"""What a task is: bytes in, bytes out, or an error whose family says what may follow.

The content stays out of `repr`, and so out of a log line that shows one of these.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Protocol


@dataclass(frozen=True, slots=True)
class TaskContext:
    """Which run this is; for identifiers passed outside and for log lines."""

    job_id: str
    attempt: int
    release: int


@dataclass(frozen=True, slots=True)
class TaskInput:
    """The input, read by the worker."""

    ref: str
    name: str = field(repr=False)
    """The file's name as far as one is known, for its extension; never logged."""
    size: int
    """Bytes."""
    content_type: str | None
    content: bytes = field(repr=False)
    own: bool = False
    """Whether it came with the event or a decision, so that `content_type` is the app's own word."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What is stored as the job's result."""

    content: bytes = field(repr=False)
    content_type: str


class Task(Protocol):
    """One kind of AI work. Running it again after a crash must be safe: it has no effects of its own."""

    name: ClassVar[str]

    @property
    def max_input_bytes(self) -> int:
        """What the worker refuses to download more than."""
        ...

    async def run(self, task_input: TaskInput, context: TaskContext) -> TaskResult:
        """Do the work, or raise `TransientError` if it may work next time, else `PermanentError`."""
        ...
