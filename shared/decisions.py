"""What follows when a run did not succeed: one pure decision of (failure, job, policies, now).

The job carries what matters of its effects (`open_effects`). docs/decision-table.md has the table.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.abandoned import reconcile_first
from shared.calls.calling import BudgetExceeded, MustWait
from shared.calls.failures import CallFailed, FailureKind
from shared.calls.resting import RESTING, TriedInVain
from shared.errors import (
    AfterhookError,
    DeliveryUnfit,
    IdNotKnown,
    JobCancelled,
    OutcomeUnknownError,
    PermanentError,
    TaskFailed,
    TransientError,
    UnknownTask,
)
from shared.jobs import Category, Job
from shared.pipeline.policies import PollPolicy
from shared.retry import RetryPolicy, delay_before, spread
from shared.tasks.base import Waiting


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """Try again after `delay`; the attempt is spent."""

    delay: timedelta


@dataclass(frozen=True, slots=True)
class AskAt:
    """The outcome is unknown and the provider can be asked: do so then. No attempt is spent."""

    at: datetime


@dataclass(frozen=True, slots=True)
class LookAt:
    """The outside works on it: look again then. No attempt is spent."""

    at: datetime


@dataclass(frozen=True, slots=True)
class PutOff:
    """Something rests or is full: come back then, as if this run had not begun."""

    until: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """Somebody asked for an end, and nothing is open that would be forgotten by it."""


@dataclass(frozen=True, slots=True)
class Bury:
    """Put the job before a person."""

    category: Category
    code: str
    message: str


Decision = RetryAfter | AskAt | LookAt | PutOff | Cancel | Bury
_FIX_INPUT = frozenset({400, 404, 413, 415, 422})
"""A provider's refusals that speak of the request; 401, 403 and the rest speak of us."""
_REMEDIES = {
    Category.FIX_INPUT: "Resubmit with another input, or correct the model or address in the settings first.",
    Category.MANUAL_REVIEW: "Look at the key, its rights and the provider's log, then resubmit.",
}
_LATER = "Resubmit once the cause is gone."
_LOOK_THERE = "See there what became of it, then resubmit or close."


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the task's policy says of retries and waits."""

    retry: RetryPolicy
    poll: PollPolicy


def decide(
    ended: AfterhookError | Waiting, job: Job, rules: Rules, now: datetime, fraction: float
) -> Decision:
    """Decide for `job`, whose run ended so. `fraction` in [0, 1) is the jitter."""
    if not job.open_effects and (job.cancel_requested or isinstance(ended, JobCancelled)):
        return Cancel()
    match ended:
        case MustWait():
            return _put_off(ended, job, rules, now, fraction)
        case TriedInVain() if ended.outage:
            wait = MustWait(RESTING, ended.until)
            return _put_off(wait, job, rules, now, fraction)
        case Waiting():
            return _wait(ended, job, rules, now, fraction)
        case OutcomeUnknownError():
            return _ask(ended, job, rules, now, fraction)
        case CallFailed(kind=FailureKind.REJECTED):
            return _refused(job, ended)
        case TransientError() | CallFailed():
            return _retry(ended, job, rules, now, fraction)
        case _:
            return _bury(job, _category(ended), ended)


def _category(error: AfterhookError) -> Category:
    """Who can do something about an error that no repeat mends."""
    match error:
        case CallFailed() if error.status in _FIX_INPUT:
            return Category.FIX_INPUT
        case BudgetExceeded():
            return Category.BUDGET
        case IdNotKnown():
            return Category.RECONCILE
        case TaskFailed() | UnknownTask() | DeliveryUnfit():
            return Category.MANUAL_REVIEW
        case PermanentError():
            return Category.FIX_INPUT
        case _:
            return Category.MANUAL_REVIEW


def _bury(job: Job, category: Category, error: AfterhookError, more: str = "", remedy: str = "") -> Bury:
    """An open effect outweighs every other reason: whatever is done next needs its outcome first."""
    if job.open_effects:
        category, remedy = Category.RECONCILE, reconcile_first(job.open_effects)
    return Bury(category, error.code, " ".join(filter(None, (str(error), more, remedy))))


def _refused(job: Job, failure: CallFailed) -> Bury:
    category = _category(failure)
    plain = failure.code == CallFailed.code  # others say themselves what to do
    return _bury(job, category, failure, remedy=_REMEDIES[category] if plain else "")


def _retry(
    error: TransientError | CallFailed, job: Job, rules: Rules, now: datetime, fraction: float
) -> Decision:
    """A wait for the outside has limits of its own: a look that fails is made again, and spends nothing."""
    policy, spent = rules.retry, job.attempt + 1
    delay = delay_before(policy, spent, fraction, error.retry_after)
    if job.waiting:
        return _look_again(error, job, rules, now, fraction, "It was looked for until the poll deadline.")
    if spent >= policy.attempts:
        why = f"All {policy.attempts} attempts are spent."
    elif now + delay > job.released_at + policy.deadline:
        why = "The next attempt would be past the deadline."
    else:
        return RetryAfter(delay)
    if job.open_effects:
        return _look_again(error, job, rules, now, fraction, why)
    return _bury(job, Category.MANUAL_REVIEW, error, why, _LATER)


def _look_again(
    error: TransientError | CallFailed, job: Job, rules: Rules, now: datetime, fraction: float, why: str
) -> Decision:
    """Within the poll deadline: for the result, or (by the ledger, in the next run) for an open outcome."""
    at = _next_look(job, rules.poll, now, fraction, error.retry_after)
    if at is None:
        return _bury(job, Category.MANUAL_REVIEW, error, why, _LOOK_THERE)
    return AskAt(at) if job.open_effects else LookAt(at)


def _put_off(wait: MustWait, job: Job, rules: Rules, now: datetime, fraction: float) -> Decision:
    """Spread over the time that is waited for, or all that wait would come at once."""
    until = max(wait.until, now)
    until += spread(until - now, rules.retry.jitter, fraction)
    if until > _deadline(job, rules):
        return _bury(job, Category.MANUAL_REVIEW, wait, "The end of it would be past the deadline.", _LATER)
    return PutOff(until, wait.reason)


def _deadline(job: Job, rules: Rules) -> datetime:
    """Until when a job may be put off: one that waits for the outside has the time of its wait."""
    if job.waiting_since is not None:
        return job.waiting_since + rules.poll.deadline
    return job.released_at + rules.retry.deadline


def _wait(waiting: Waiting, job: Job, rules: Rules, now: datetime, fraction: float) -> Decision:
    at = _next_look(job, rules.poll, now, fraction, waiting.retry_after)
    if at is None:
        overdue = ResultOverdue()
        return _bury(job, Category.MANUAL_REVIEW, overdue)
    return LookAt(at)


def _ask(unknown: OutcomeUnknownError, job: Job, rules: Rules, now: datetime, fraction: float) -> Decision:
    if unknown.ask_at is None:
        why = "The provider cannot be asked by us: look there, then reconcile."
        return Bury(Category.RECONCILE, unknown.code, f"{unknown} {why}")
    at = _next_look(job, rules.poll, now, fraction, unknown.ask_at - now)
    if at is None:
        why = "It was asked in vain until the deadline: look there, then reconcile."
        return Bury(Category.RECONCILE, unknown.code, f"{unknown} {why}")
    return AskAt(at)


def _next_look(
    job: Job, poll: PollPolicy, now: datetime, fraction: float, floor: timedelta | None
) -> datetime | None:
    """When to look next; None if the wait has lasted too long."""
    delay = poll.backoff.delay(job.waits + 1)
    if floor is not None:
        delay = max(delay, floor)
    at = now + delay + spread(delay, poll.jitter, fraction)
    since = job.waiting_since or now
    if now >= since + poll.deadline:
        return None
    return min(at, max(since + poll.deadline, now + (floor or timedelta(0))))


class ResultOverdue(PermanentError):
    """The outside did not finish in time. See there what became of it, then resubmit or close."""

    code = "result_overdue"
