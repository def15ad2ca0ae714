"""What a dead-lettered message means for its job."""

from datetime import timedelta
from typing import Any

import pytest

from shared.deadletters.judgement import BuryAndFile, Discard, FileCase, Judgement, LookAgain, Orphan, judge
from shared.jobs import Category, JobState, Lease
from shared.messages import JobMessage
from shared.ports import Snapshot
from tests.support.application import new_job
from tests.support.cases import failure
from tests.support.fakes import World
from tests.support.fakes.time import START


def judged(
    *, message_release: int = 0, message_turn: int = 0, reason: str | None = None, **job: Any
) -> Judgement:
    message = JobMessage.for_job(new_job(World(), release=message_release, turn=message_turn))
    snapshot = Snapshot(job=new_job(World(), **job), version="1", read_at=START)
    return judge(message, snapshot, reason, worker="w", app_version="1")


def test_a_message_without_a_job_is_an_orphan() -> None:
    message = JobMessage.for_job(new_job(World()))
    assert judge(message, None, None, worker="w", app_version="1") == Orphan()
    assert judged(message_release=1) == Orphan()


@pytest.mark.parametrize("state", [JobState.SUCCEEDED, JobState.CLOSED, JobState.CANCELLED])
def test_a_message_of_a_final_job_is_discarded(state: JobState) -> None:
    assert judged(state=state) == Discard()


@pytest.mark.parametrize(("release", "turn"), [(0, 1), (1, 0)])
def test_an_older_message_is_discarded_whatever_the_state(release: int, turn: int) -> None:
    for state in (JobState.QUEUED, JobState.RUNNING, JobState.DEAD):
        assert judged(state=state, release=release, turn=turn, failure=failure(World())) == Discard()


def test_a_dead_job_gets_its_case() -> None:
    assert judged(state=JobState.DEAD) == FileCase()


def test_a_live_lease_is_looked_at_again_when_it_ends() -> None:
    until = START + timedelta(seconds=1)
    assert judged(state=JobState.RUNNING, lease=Lease(token="t", until=until)) == LookAgain(until)


WAITING = [
    JobState.QUEUED,
    JobState.RETRY_SCHEDULED,
    JobState.AWAITING_RESULT,
    JobState.OUTCOME_UNKNOWN,
]


@pytest.mark.parametrize("reason", ["MaxDeliveryCountExceeded", "TTLExpiredException"])
@pytest.mark.parametrize("state", WAITING)
def test_a_job_that_waits_is_not_buried_by_a_spent_message(state: JobState, reason: str) -> None:
    until = START + timedelta(minutes=10)
    assert judged(state=state, not_before=until, reason=reason) == LookAgain(until)


@pytest.mark.parametrize("state", WAITING)
def test_a_wait_that_is_over_saves_nothing(state: JobState) -> None:
    assert isinstance(judged(state=state, not_before=START), BuryAndFile)


@pytest.mark.parametrize("reason", ["MaxDeliveryCountExceeded", "TTLExpiredException"])
@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.RETRY_SCHEDULED, JobState.OUTCOME_UNKNOWN])
def test_an_open_effect_outweighs_the_reason(state: JobState, reason: str) -> None:
    outcome = judged(state=state, open_effects=("submit", "announce"), reason=reason)
    assert isinstance(outcome, BuryAndFile)
    found = outcome.job.failure
    assert found is not None
    assert (found.category, found.code) == (Category.RECONCILE, "outcome_unknown")
    assert "submit, announce" in found.message
    assert outcome.job.open_effects == ("submit", "announce")


@pytest.mark.parametrize(
    ("state", "reason", "category"),
    [
        (JobState.QUEUED, "MaxDeliveryCountExceeded", Category.CRASHED),
        (JobState.QUEUED, None, Category.CRASHED),
        (JobState.RUNNING, "MaxDeliveryCountExceeded", Category.CRASHED),
        (JobState.RETRY_SCHEDULED, "TTLExpiredException", Category.EXPIRED),
    ],
)
def test_a_job_left_without_an_outcome_is_buried(
    state: JobState, reason: str | None, category: Category
) -> None:
    lease = Lease(token="t", until=START) if state is JobState.RUNNING else None
    outcome = judged(state=state, lease=lease, claim=2, turn=1, message_turn=3, reason=reason)
    assert isinstance(outcome, BuryAndFile)
    job = outcome.job
    assert (job.state, job.claim, job.turn, job.lease) == (JobState.DEAD, 3, 3, None)
    assert job.failure is not None
    assert job.failure.category is category
