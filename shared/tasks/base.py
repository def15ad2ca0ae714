"""What a task is: bytes in, bytes out or a wait, or an error whose family says what may follow.

The content stays out of `repr`, and so out of a log line that shows one of these.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar, Protocol

from shared.calls.calling import ProviderCalls
from shared.effects.contract import Effects


@dataclass(frozen=True, slots=True)
class TaskContext:
    """Which run this is, and the ways to the outside that a run may take.

    `effects` is for calls that must not happen twice, `calls` for those that are safe to repeat (a model, a
    status, a download). `callback_url` is where a provider may tell that something is ready; None without
    `PUBLIC_BASE_URL`.
    """

    job_id: str
    attempt: int
    release: int
    effects: Effects = field(repr=False)
    calls: ProviderCalls = field(repr=False)
    callback_url: str | None = field(default=None, repr=False)


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


@dataclass(frozen=True, slots=True)
class Waiting:
    """The outside works on it: look again after the task's poll backoff, or after `retry_after` if longer.

    The job goes to `awaiting_result`; no lock is held, no attempt is spent, and `run` is called again then.
    """

    code: str
    retry_after: timedelta | None = None


class Task(Protocol):
    """One kind of AI work. It runs again after crashes, retries and waits: effects go through the ledger."""

    name: ClassVar[str]

    @property
    def max_input_bytes(self) -> int:
        """What the worker refuses to download more than."""
        ...

    async def run(self, task_input: TaskInput, context: TaskContext) -> TaskResult | Waiting:
        """Do the work, or raise `TransientError` if it may work next time, else `PermanentError`.

        What `context.effects` and `context.calls` raise passes through.
        """
        ...
