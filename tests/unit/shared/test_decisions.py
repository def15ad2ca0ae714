"""What follows a failure: a table of known cases."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.decisions import Bury, RetryAfter, decide
from shared.documents.errors import DocumentMissing
from shared.errors import (
    AfterhookError,
    AttemptTimedOut,
    Conflict,
    OutcomeUnknownError,
    PermanentError,
    TaskFailed,
    TransientError,
    UnknownTask,
)
from shared.jobs import Category
from shared.retry import BackoffCurve, RetryPolicy
from tests.support.application import new_job
from tests.support.fakes import World
from tests.support.fakes.time import START

CURVE = BackoffCurve(base=timedelta(seconds=5), factor=2, cap=timedelta(minutes=5))
POLICY = RetryPolicy(attempts=5, deadline=timedelta(hours=1), backoff=CURVE, jitter=0.2)


def decided(error: AfterhookError, *, fraction: float = 0.0, at: Any = START, **job: Any) -> Any:
    return decide(error, new_job(World(), **job), POLICY, at, fraction)


@pytest.mark.parametrize(
    ("error", "category", "code"),
    [
        (DocumentMissing(), Category.FIX_INPUT, "document_missing"),
        (PermanentError(), Category.FIX_INPUT, "permanent"),
        (TaskFailed(), Category.MANUAL_REVIEW, "task_failed"),
        (UnknownTask(), Category.MANUAL_REVIEW, "unknown_task"),
        (OutcomeUnknownError(), Category.RECONCILE, "outcome_unknown"),
        (Conflict(), Category.MANUAL_REVIEW, "conflict"),
    ],
)
def test_what_is_not_transient_goes_before_a_person(
    error: AfterhookError, category: Category, code: str
) -> None:
    assert decided(error) == Bury(category, code, str(error))


@pytest.mark.parametrize(("spent", "seconds"), [(0, 10), (1, 20), (2, 40), (3, 80)])
def test_the_delay_doubles_with_each_spent_attempt(spent: int, seconds: int) -> None:
    assert decided(TransientError(), attempt=spent) == RetryAfter(timedelta(seconds=seconds))


def test_jitter_adds_up_to_its_share_and_takes_nothing_away() -> None:
    assert decided(AttemptTimedOut(), fraction=0.5) == RetryAfter(timedelta(seconds=11))


def test_a_retry_never_comes_before_the_senders_retry_after() -> None:
    error = TransientError(retry_after=timedelta(minutes=7))
    assert decided(error) == RetryAfter(timedelta(minutes=7))


def test_the_last_attempt_is_followed_by_a_person() -> None:
    outcome = decided(TransientError("The model is busy."), attempt=4)
    assert (outcome.category, outcome.code) == (Category.MANUAL_REVIEW, "transient")
    assert "All 5 attempts" in outcome.message


def test_no_attempt_starts_past_the_deadline() -> None:
    assert isinstance(decided(TransientError(), at=START + timedelta(seconds=3590)), RetryAfter)
    outcome = decided(TransientError(), at=START + timedelta(seconds=3591))
    assert outcome.category is Category.MANUAL_REVIEW
    assert "deadline" in outcome.message


def test_an_absurd_retry_after_ends_at_the_deadline_instead_of_overflowing() -> None:
    outcome = decided(TransientError(retry_after=timedelta.max))
    assert outcome.category is Category.MANUAL_REVIEW


def test_the_deadline_counts_from_the_release() -> None:
    late = START + timedelta(hours=3)
    job = replace(new_job(World()), released_at=late)
    assert isinstance(decide(TransientError(), job, POLICY, late, 0.0), RetryAfter)
