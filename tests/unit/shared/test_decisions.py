"""What follows a run that did not succeed: tables of known cases."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from shared.adapters.openai_client import RefusedByPolicy
from shared.calls.calling import BudgetExceeded, MustWait
from shared.calls.failures import CallFailed, FailureKind
from shared.calls.resting import TriedInVain
from shared.decisions import AskAt, Cancel, LookAt, PutOff, RetryAfter, Rules, decide
from shared.documents.errors import DocumentMissing
from shared.errors import (
    AfterhookError,
    AttemptTimedOut,
    Conflict,
    DeliveryUnfit,
    EffectChanged,
    IdNotKnown,
    JobCancelled,
    OutcomeUnknownError,
    PermanentError,
    TaskFailed,
    TransientError,
    UnknownTask,
)
from shared.jobs import Category
from shared.pipeline.policies import PollPolicy
from shared.retry import BackoffCurve, BackoffList, RetryPolicy
from shared.tasks.base import Waiting
from tests.support.application import new_job
from tests.support.fakes import World
from tests.support.fakes.time import START

CURVE = BackoffCurve(base=timedelta(seconds=5), factor=2, cap=timedelta(minutes=5))
POLICY = RetryPolicy(attempts=5, deadline=timedelta(hours=1), backoff=CURVE, jitter=0.2)
POLL = PollPolicy(deadline=timedelta(hours=2), backoff=CURVE, jitter=0.2)
RULES = Rules(retry=POLICY, poll=POLL)
OPEN: dict[str, Any] = {"open_effects": ("submit_video",)}


def decided(ended: Any, *, fraction: float = 0.0, at: Any = START, rules: Rules = RULES, **job: Any) -> Any:
    return decide(ended, new_job(World(), **job), rules, at, fraction)


def call_failed(kind: FailureKind, status: int | None = None) -> CallFailed:
    return CallFailed("video", kind, status=status)


@pytest.mark.parametrize(
    ("error", "category", "code"),
    [
        (DocumentMissing(), Category.FIX_INPUT, "document_missing"),
        (PermanentError(), Category.FIX_INPUT, "permanent"),
        (TaskFailed(), Category.MANUAL_REVIEW, "task_failed"),
        (DeliveryUnfit(), Category.MANUAL_REVIEW, "delivery_unfit"),
        (UnknownTask(), Category.MANUAL_REVIEW, "unknown_task"),
        (EffectChanged(), Category.MANUAL_REVIEW, "effect_changed"),
        (BudgetExceeded(), Category.BUDGET, "budget_exceeded"),
        (IdNotKnown("video", "submit_video"), Category.RECONCILE, "id_not_known"),
        (Conflict(), Category.MANUAL_REVIEW, "conflict"),
        (call_failed(FailureKind.REJECTED, 400), Category.FIX_INPUT, "provider_call_failed"),
        (call_failed(FailureKind.REJECTED, 404), Category.FIX_INPUT, "provider_call_failed"),
        (call_failed(FailureKind.REJECTED, 422), Category.FIX_INPUT, "provider_call_failed"),
        (call_failed(FailureKind.REJECTED, 401), Category.MANUAL_REVIEW, "provider_call_failed"),
        (call_failed(FailureKind.REJECTED, 403), Category.MANUAL_REVIEW, "provider_call_failed"),
        (call_failed(FailureKind.REJECTED, 409), Category.MANUAL_REVIEW, "provider_call_failed"),
    ],
)
def test_what_is_not_transient_goes_before_a_person(
    error: AfterhookError, category: Category, code: str
) -> None:
    outcome = decided(error)
    assert (outcome.category, outcome.code) == (category, code)
    assert outcome.message.startswith(str(error))


@pytest.mark.parametrize(
    ("ended", "job", "remedy"),
    [
        (call_failed(FailureKind.REJECTED, 422), {}, "Resubmit with another input, or correct the model"),
        (call_failed(FailureKind.REJECTED, 401), {}, "Look at the key, its rights"),
        (call_failed(FailureKind.UNAVAILABLE, 503), {"attempt": 4}, "Resubmit once the cause is gone."),
        (MustWait("tenant_busy", START + timedelta(days=2)), {}, "Resubmit once the cause is gone."),
        (
            call_failed(FailureKind.UNCLEAR),
            {"waits": 9, "waiting_since": START - timedelta(hours=2)},
            "See there what became of it, then resubmit or close.",
        ),
        (RefusedByPolicy("video"), {}, "Resubmit with another input."),
    ],
    ids=str,
)
def test_whoever_must_decide_is_told_what_to_do(
    ended: AfterhookError, job: dict[str, Any], remedy: str
) -> None:
    assert decided(ended, **job).message.count(remedy) == 1


@pytest.mark.parametrize("kind", [kind for kind in FailureKind if kind is not FailureKind.REJECTED])
def test_a_call_that_may_be_made_again_is_retried(kind: FailureKind) -> None:
    assert decided(call_failed(kind)) == RetryAfter(timedelta(seconds=10))


def test_a_valid_input_whose_outcome_is_unknown_and_not_safe_to_repeat_is_reconciled_after_one_attempt() -> (
    None
):
    outcome = decided(OutcomeUnknownError("Nobody knows."), **OPEN)
    assert (outcome.category, outcome.code) == (Category.RECONCILE, "outcome_unknown")


@pytest.mark.parametrize(
    "error",
    [
        PermanentError(),
        TaskFailed(),
        BudgetExceeded(),
        call_failed(FailureKind.REJECTED, 400),
        MustWait("provider_resting", START + timedelta(days=2)),
    ],
)
def test_an_open_effect_outweighs_every_other_reason(error: AfterhookError) -> None:
    outcome = decided(error, **OPEN)
    assert (outcome.category, outcome.code) == (Category.RECONCILE, error.code)
    assert outcome.message.endswith("submit_video is not known: look at the provider, then reconcile.")


@pytest.mark.parametrize("ask_at", [None, START])
def test_whoever_must_decide_about_an_unknown_outcome_is_told_how(ask_at: datetime | None) -> None:
    unknown = OutcomeUnknownError("Nobody knows.", ask_at=ask_at)
    outcome = decided(unknown, waits=9, waiting_since=START - timedelta(hours=2), **OPEN)
    assert outcome.message.endswith("look there, then reconcile.")


def test_an_open_effect_is_still_asked_for_when_the_attempts_are_spent_until_the_poll_deadline() -> None:
    assert decided(AttemptTimedOut(), attempt=4, **OPEN) == AskAt(START + timedelta(seconds=10))
    late = START - timedelta(hours=2)
    outcome = decided(AttemptTimedOut(), attempt=4, waits=9, waiting_since=late, **OPEN)
    assert outcome.category is Category.RECONCILE


@pytest.mark.parametrize("failed", [TransientError(), AttemptTimedOut(), call_failed(FailureKind.UNCLEAR)])
def test_a_look_that_fails_is_made_again_by_the_rules_of_the_wait_and_spends_no_attempt(
    failed: AfterhookError,
) -> None:
    long_ago: dict[str, Any] = {"released_at": START - timedelta(hours=1), "waits": 2, "waiting_since": START}
    assert decided(failed, attempt=4, **long_ago) == LookAt(START + timedelta(seconds=40))
    first = long_ago | {"waits": 0}  # the answer to the submit is stored, and nobody has looked yet
    assert decided(failed, attempt=4, **first) == LookAt(START + timedelta(seconds=10))
    resting = MustWait("provider_resting", START + timedelta(seconds=60))
    assert decided(resting, **long_ago) == PutOff(START + timedelta(seconds=60), "provider_resting")
    assert decided(resting, **first) == PutOff(START + timedelta(seconds=60), "provider_resting")
    over = long_ago | {"waiting_since": START - timedelta(hours=2)}
    assert decided(failed, **over).category is Category.MANUAL_REVIEW


@pytest.mark.parametrize(("spent", "seconds"), [(0, 10), (1, 20), (2, 40), (3, 80), (5, 300), (20, 300)])
def test_the_delay_doubles_with_each_spent_attempt_up_to_its_cap(spent: int, seconds: int) -> None:
    rules = replace(RULES, retry=replace(POLICY, attempts=100))
    assert decided(TransientError(), attempt=spent, rules=rules).delay >= timedelta(seconds=seconds)
    if spent != 5:
        assert decided(TransientError(), attempt=spent, rules=rules) == RetryAfter(timedelta(seconds=seconds))


@pytest.mark.parametrize(("spent", "seconds"), [(0, 30), (1, 120), (2, 600), (3, 1800), (4, 1800)])
def test_a_list_of_delays_is_followed_and_its_last_repeats(spent: int, seconds: int) -> None:
    delays = tuple(timedelta(seconds=each) for each in (30, 120, 600, 1800))
    policy = replace(POLICY, attempts=9, backoff=BackoffList(delays), deadline=timedelta(days=1))
    assert decided(TransientError(), attempt=spent, rules=replace(RULES, retry=policy)) == RetryAfter(
        timedelta(seconds=seconds)
    )


def test_jitter_adds_up_to_its_share_and_takes_nothing_away() -> None:
    assert decided(AttemptTimedOut(), fraction=0.5) == RetryAfter(timedelta(seconds=11))


def test_a_retry_never_comes_before_the_providers_retry_after() -> None:
    error = TransientError(retry_after=timedelta(minutes=7))
    assert decided(error) == RetryAfter(timedelta(minutes=7))
    throttled = CallFailed("video", FailureKind.THROTTLED, status=429, retry_after=timedelta(minutes=7))
    assert decided(throttled) == RetryAfter(timedelta(minutes=7))


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
    assert isinstance(decide(TransientError(), job, RULES, late, 0.0), RetryAfter)


def test_a_provider_that_rests_puts_the_job_off_and_spends_no_attempt_even_the_last() -> None:
    wait = MustWait("provider_resting", START + timedelta(seconds=60))
    assert decided(wait, attempt=4) == PutOff(START + timedelta(seconds=60), "provider_resting")
    assert decided(wait, fraction=0.5) == PutOff(START + timedelta(seconds=66), "provider_resting")


def test_trying_out_a_provider_that_rests_spends_no_attempt_either() -> None:
    tried = TriedInVain(call_failed(FailureKind.UNCLEAR), START + timedelta(seconds=60), START)
    assert decided(tried, attempt=4) == PutOff(START + timedelta(seconds=60), "provider_resting")


def test_no_wait_for_a_provider_lasts_past_the_deadline() -> None:
    outcome = decided(MustWait("provider_resting", START + timedelta(hours=2)))
    assert (outcome.category, outcome.code) == (Category.MANUAL_REVIEW, "must_wait")


@pytest.mark.parametrize(("waits", "seconds"), [(0, 10), (1, 20), (2, 40), (9, 300)])
def test_what_the_outside_works_on_is_looked_at_with_backoff(waits: int, seconds: int) -> None:
    outcome = decided(Waiting("video_in_progress"), waits=waits, waiting_since=START)
    assert outcome == LookAt(START + timedelta(seconds=seconds))


def test_a_look_never_comes_before_the_providers_retry_after() -> None:
    waiting = Waiting("video_in_progress", retry_after=timedelta(seconds=90))
    assert decided(waiting) == LookAt(START + timedelta(seconds=90))


def test_the_last_look_is_at_the_deadline_and_then_a_person_looks() -> None:
    since = START - timedelta(hours=2) + timedelta(seconds=4)
    assert decided(Waiting("video_in_progress"), waits=50, waiting_since=since) == LookAt(
        START + timedelta(seconds=4)
    )
    overdue = decided(Waiting("video_in_progress"), waits=51, waiting_since=START - timedelta(hours=2))
    assert (overdue.category, overdue.code) == (Category.MANUAL_REVIEW, "result_overdue")


def test_an_unknown_outcome_is_asked_for_no_earlier_than_the_provider_can_tell() -> None:
    unknown = OutcomeUnknownError(ask_at=START + timedelta(seconds=45))
    assert decided(unknown, **OPEN) == AskAt(START + timedelta(seconds=45))
    assert decided(unknown, waits=3, waiting_since=START, **OPEN) == AskAt(START + timedelta(seconds=80))


def test_an_unknown_outcome_that_was_asked_for_in_vain_goes_before_a_person() -> None:
    outcome = decided(
        OutcomeUnknownError(ask_at=START), waits=9, waiting_since=START - timedelta(hours=2), **OPEN
    )
    assert (outcome.category, outcome.code) == (Category.RECONCILE, "outcome_unknown")


@pytest.mark.parametrize(
    "ended", [JobCancelled(), TransientError(), PermanentError(), Waiting("video_in_progress")]
)
def test_a_cancelled_job_ends_cancelled_instead_of_going_on(ended: Any) -> None:
    assert decided(ended, cancel_requested=True) == Cancel()


def test_a_cancel_does_not_make_an_open_effect_forgotten() -> None:
    for ended in (OutcomeUnknownError(), JobCancelled()):
        outcome = decided(ended, cancel_requested=True, **OPEN)
        assert outcome.category is Category.RECONCILE
    assert isinstance(decided(TransientError(), cancel_requested=True, **OPEN), RetryAfter)
