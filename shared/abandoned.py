"""The failure of a job that was left without an outcome, and what an open effect means for any failure."""

from collections.abc import Sequence
from datetime import datetime

from shared.errors import OutcomeUnknownError
from shared.jobs import Category, Failure, Job


def reconcile_first(open_effects: Sequence[str]) -> str:
    """What to tell the person who is to decide while nobody knows whether these effects happened."""
    names = ", ".join(open_effects)
    return f"The outcome of {names} is not known: look at the provider, then reconcile."


def abandoned(
    job: Job, at: datetime, *, code: str, category: Category, text: str, worker: str, app_version: str
) -> Failure:
    """The failure of `job`, which no run concluded.

    An open effect outweighs `code` and `category`: before anything else its outcome must be known.
    """
    if job.open_effects:
        code, category = OutcomeUnknownError.code, Category.RECONCILE
        text = f"{text} {reconcile_first(job.open_effects)}"
    return Failure(
        code=code,
        category=category,
        message=text,
        at=at,
        attempts=job.attempt,
        worker=worker,
        app_version=app_version,
        input_ref=job.input_ref,
    )
