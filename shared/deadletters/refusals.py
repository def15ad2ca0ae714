"""Why an operator's decision cannot be carried out: each with its HTTP status and what to do instead."""

from datetime import UTC, datetime, timedelta
from math import ceil
from typing import ClassVar

from shared.errors import RequestRefused


class Refusal(RequestRefused):
    """The decision cannot be carried out."""

    code: ClassVar[str] = "refused"
    status: ClassVar[int] = 409


class CaseNotFound(Refusal):
    """There is no case of this id."""

    code: ClassVar[str] = "case_not_found"
    status: ClassVar[int] = 404


class AlreadyDone(Refusal):
    """The job is finished; there is nothing to decide."""

    code: ClassVar[str] = "already_done"


class NotDead(Refusal):
    """The job is under way; a decision is possible once it is dead."""

    code: ClassVar[str] = "not_dead"


class OutcomeUnknown(Refusal):
    """Nobody knows whether the outside carried it out. Reconcile first."""

    code: ClassVar[str] = "outcome_unknown"


class NoOpenEffect(Refusal):
    """Nothing is open under this name: it is known, or was said before. Look at the effects, or resubmit."""

    code: ClassVar[str] = "no_open_effect"


class CallUnderWay(Refusal):
    """The call may still be under way: nobody can say yet that it was not made."""

    code: ClassVar[str] = "call_under_way"

    def __init__(self, until: datetime, now: datetime) -> None:
        """`until` is when the call has ended at the latest."""
        seconds = ceil((until - now).total_seconds())
        at = (now + timedelta(seconds=seconds)).astimezone(UTC)
        super().__init__(
            f"The call may be under way until {at:%Y-%m-%dT%H:%M:%SZ}: not_done can be said from then on."
            " If it was made, say done now."
        )
        self.headers = {"Retry-After": str(seconds)}


class CloseInstead(Refusal):
    """The job is dead: it runs no more, and nothing of it is to be cancelled. Close its case instead."""

    code: ClassVar[str] = "use_close"


class NotResubmittable(Refusal):
    """The case is an unreadable message: no job stands behind it. Close it once its cause is mended."""

    code: ClassVar[str] = "not_resubmittable"


class InputRefused(Refusal):
    """The new input cannot be used."""

    code: ClassVar[str] = "input_refused"
    status: ClassVar[int] = 422


class IdempotencyKeyReused(Refusal):
    """This Idempotency-Key was used for another decision. Use a new one."""

    code: ClassVar[str] = "idempotency_key_reused"
    status: ClassVar[int] = 422


class ChangedMeanwhile(Refusal):
    """The job changed while it was decided. Look at it again."""

    code: ClassVar[str] = "changed_meanwhile"
