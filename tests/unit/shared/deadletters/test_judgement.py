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
