"""What follows a failed attempt: one pure decision of (failure, attempt, policy, now).

Every task type there is now is safe to repeat: it reads a document and asks a model. A failure is
therefore retried when it is transient and attempts and deadline are left, and put before a person otherwise.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.errors import (
    AfterhookError,
    OutcomeUnknownError,
    PermanentError,
    TaskFailed,
    TransientError,
    UnknownTask,
)
from shared.jobs import Category, Job
from shared.retry import RetryPolicy, delay_before


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """Try again after `delay`; the attempt is spent."""

    delay: timedelta


@dataclass(frozen=True, slots=True)
class Bury:
    """Put the job before a person."""

    category: Category
    code: str
    message: str


Decision = RetryAfter | Bury


def decide(error: AfterhookError, job: Job, policy: RetryPolicy, now: datetime, fraction: float) -> Decision:
    """Decide for `job`, whose running attempt ended with `error`. `fraction` in [0, 1) is the jitter."""
    if isinstance(error, OutcomeUnknownError):
        return Bury(Category.RECONCILE, error.code, str(error))
    if isinstance(error, TaskFailed | UnknownTask):
        return Bury(Category.MANUAL_REVIEW, error.code, str(error))
    if isinstance(error, PermanentError):
        return Bury(Category.FIX_INPUT, error.code, str(error))
    if not isinstance(error, TransientError):
        return Bury(Category.MANUAL_REVIEW, error.code, str(error))
    spent = job.attempt + 1
    if spent >= policy.attempts:
        return Bury(Category.MANUAL_REVIEW, error.code, f"{error} All {policy.attempts} attempts are spent.")
    delay = delay_before(policy, spent, fraction, error.retry_after)
    if now + delay > job.released_at + policy.deadline:
        return Bury(
            Category.MANUAL_REVIEW, error.code, f"{error} The next attempt would be past the deadline."
        )
    return RetryAfter(delay)
