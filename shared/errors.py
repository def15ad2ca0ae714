"""One error root; every class has a stable code, and the family says what may follow.

Texts name what was wrong and what to do. They never carry a document, a prompt, a secret or
personal data, because they are shown to operators and written to logs.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import PurePath
from types import MappingProxyType
from typing import ClassVar


class AfterhookError(Exception):
    """Something went wrong in Afterhook."""

    code: ClassVar[str] = "internal_error"

    def __init__(self, message: str | None = None) -> None:
        # `python -OO` strips docstrings: the code is left then.
        super().__init__(message or (type(self).__doc__ or type(self).code).strip().splitlines()[0])


class RequestRefused(AfterhookError):
    """A request was refused for what it asks or how; `status` is that of the HTTP answer."""

    code: ClassVar[str] = "bad_request"
    status: ClassVar[int] = 400
    headers: Mapping[str, str] = MappingProxyType({})


class TransientError(AfterhookError):
    """It may work next time."""

    code: ClassVar[str] = "transient"

    def __init__(self, message: str | None = None, *, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class PermanentError(AfterhookError):
    """It will fail the same way until somebody changes the input or the configuration."""

    code: ClassVar[str] = "permanent"


class DeliveryUnfit(PermanentError):
    """What a provider delivered cannot be used; the input is not to blame."""

    code: ClassVar[str] = "delivery_unfit"


class OutcomeUnknownError(AfterhookError):
    """A call was sent and nobody knows whether the outside carried it out."""

    code: ClassVar[str] = "outcome_unknown"

    def __init__(self, message: str | None = None, *, ask_at: datetime | None = None) -> None:
        """`ask_at` is when the provider can tell; None where it cannot be asked."""
        super().__init__(message)
        self.ask_at = ask_at


class JobCancelled(AfterhookError):
    """Somebody cancelled the job while it ran; nothing further is done."""

    code: ClassVar[str] = "cancelled"


class ClaimLost(AfterhookError):
    """Another worker, or a person, has taken over the job: this run no longer counts."""

    code: ClassVar[str] = "claim_lost"


class EffectChanged(AfterhookError):
    """The task asks for another effect than the one it had done before. This is a fault of the task."""

    code: ClassVar[str] = "effect_changed"


class IdNotKnown(PermanentError):
    """The provider does not know the id that a person gave. Reconcile that effect once more."""

    code: ClassVar[str] = "id_not_known"

    def __init__(self, provider: str, action: str) -> None:
        super().__init__(
            f"{provider} does not know the id that a person gave for {action}."
            f" Reconcile {action} once more, with the right id or as not_done."
        )


class StorageUnavailable(TransientError):
    """The storage account did not answer, or not in time."""

    code: ClassVar[str] = "storage_unavailable"


class QueueUnavailable(TransientError):
    """The message bus did not answer, or not in time."""

    code: ClassVar[str] = "queue_unavailable"


class AttemptTimedOut(TransientError):
    """The task did not finish within its attempt timeout."""

    code: ClassVar[str] = "attempt_timed_out"


class NoTimeLeft(TransientError):
    """The attempt's time was nearly up, so a call to the outside was not begun."""

    code: ClassVar[str] = "no_time_left"


class TaskFailed(PermanentError):
    """The task ended with an error that it does not declare."""

    code: ClassVar[str] = "task_failed"


class UnknownTask(PermanentError):
    """No task of this name is deployed."""

    code: ClassVar[str] = "unknown_task"


class Conflict(AfterhookError):
    """The stored job changed since it was read."""

    code: ClassVar[str] = "conflict"


class IllegalTransition(AfterhookError):
    """A job cannot go from its state to the one asked for."""

    code: ClassVar[str] = "illegal_transition"


class UnreadableMessage(AfterhookError):
    """The queue message is not one that Afterhook can read."""

    code: ClassVar[str] = "unreadable_message"


class NewerSchema(AfterhookError):
    """The queue message was written by a newer version; it waits for that version."""

    code: ClassVar[str] = "newer_schema"


class ConfigurationError(AfterhookError):
    """A setting or pipeline.toml is wrong; the text lists every problem."""

    code: ClassVar[str] = "configuration_invalid"


class DeadLettered(AfterhookError):
    """Raised to the platform so that a message ends in the dead-letter queue; the row has the reason."""

    code: ClassVar[str] = "dead_lettered"

    def __init__(self, job_id: str, reason: str) -> None:
        super().__init__(f"{job_id}: {reason}")


def where_raised(error: BaseException) -> str:
    """The last places of the error's trace, for a log line: a foreign error's text may be private."""
    places, trace = [], error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{PurePath(code.co_filename).name}:{trace.tb_lineno}")
        trace = trace.tb_next
    return " > ".join(places[-4:])
