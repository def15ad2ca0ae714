"""Each answer of admission, and the order of its questions."""

from datetime import timedelta
from typing import Any

import pytest

from shared.jobs import Category, JobState, Lease
from shared.messages import JobMessage
from shared.ports import Snapshot
from shared.worker.admission import (
    CRASH_LIMIT,
    OVERTOOK_PAUSE,
    Admission,
    AlreadyDead,
    Claimable,
    Crashed,
    Finished,
    NoSuchJob,
    NotYet,
    Stale,
    admit,
)
from tests.support.application import new_job
from tests.support.fakes import World
from tests.support.fakes.time import START

SECOND = timedelta(seconds=1)
LIVE = Lease(token="other", until=START + SECOND)
LAPSED = Lease(token="other", until=START)


def admitted(*, message_release: int = 0, message_turn: int = 0, **job: Any) -> Admission:
    stored = new_job(World(), **job)
    message = JobMessage.for_job(new_job(World(), release=message_release, turn=message_turn))
    return ask(message, Snapshot(job=stored, version="1", read_at=START))


def ask(message: JobMessage, snapshot: Snapshot | None) -> Admission:
    return admit(
        message, snapshot, lease_token="mine", lease_for=timedelta(seconds=90), worker="w", app_version="1"
    )


def test_a_message_without_a_job_has_no_such_job() -> None:
    assert ask(JobMessage.for_job(new_job(World())), None) == NoSuchJob()


def test_a_release_that_the_job_never_reached_is_no_such_job() -> None:
    assert admitted(message_release=1) == NoSuchJob()


@pytest.mark.parametrize("state", [JobState.SUCCEEDED, JobState.CLOSED, JobState.CANCELLED])
def test_a_final_job_is_finished_also_for_a_stale_message(state: JobState) -> None:
    assert admitted(state=state) == Finished()
    assert admitted(state=state, turn=4) == Finished()


@pytest.mark.parametrize(("release", "turn"), [(0, 1), (1, 0), (1, 1)])
def test_an_older_release_or_turn_is_stale(release: int, turn: int) -> None:
    assert admitted(release=release, turn=turn) == Stale()


def test_an_older_message_of_a_dead_job_is_stale_and_the_present_one_dead() -> None:
    assert admitted(state=JobState.DEAD, turn=1) == Stale()
    assert admitted(state=JobState.DEAD, turn=1, message_turn=1) == AlreadyDead()


def test_a_live_lease_is_waited_for_whatever_the_crash_count() -> None:
    job: dict[str, Any] = {"state": JobState.RUNNING, "lease": LIVE, "crashes": CRASH_LIMIT}
    assert admitted(**job) == NotYet(LIVE.until)
    assert admitted(**job, message_turn=1) == NotYet(LIVE.until)


def test_a_turn_that_comes_before_it_is_written_looks_again_soon() -> None:
    """Its sender holds the lease, and is about to write it."""
    long = Lease(token="other", until=START + timedelta(minutes=3))
    job: dict[str, Any] = {"state": JobState.RUNNING, "lease": long}
    assert admitted(**job, message_turn=1) == NotYet(START + OVERTOOK_PAUSE)
    assert admitted(**job, message_turn=0) == NotYet(long.until)


def test_a_message_before_its_time_waits() -> None:
    due = START + timedelta(seconds=30)
    assert admitted(state=JobState.RETRY_SCHEDULED, not_before=due) == NotYet(due)


def test_a_message_on_time_is_not_early_because_storage_counts_whole_seconds() -> None:
    assert isinstance(admitted(state=JobState.RETRY_SCHEDULED, not_before=START + SECOND), Claimable)


def test_a_claim_counts_up_takes_the_lease_and_adopts_the_higher_turn() -> None:
    outcome = admitted(claim=3, message_turn=2, not_before=START)
    assert isinstance(outcome, Claimable)
    job = outcome.job
    assert (job.state, job.claim, job.turn, job.crashes) == (JobState.RUNNING, 4, 2, 0)
    assert job.lease == Lease(token="mine", until=START + timedelta(seconds=90))
    assert job.not_before is None


def test_a_lapsed_lease_is_claimed_again_and_counts_as_a_crash() -> None:
    outcome = admitted(state=JobState.RUNNING, lease=LAPSED, claim=1, crashes=3)
    assert isinstance(outcome, Claimable)
    assert (outcome.job.claim, outcome.job.crashes, outcome.job.attempt) == (2, 4, 0)


def test_the_fifth_crash_kills_the_job() -> None:
    outcome = admitted(state=JobState.RUNNING, lease=LAPSED, claim=5, crashes=CRASH_LIMIT - 1)
    assert isinstance(outcome, Crashed)
    job = outcome.job
    assert (job.state, job.claim, job.lease) == (JobState.DEAD, 6, None)
    assert job.failure is not None
    assert job.failure.category is Category.CRASHED


def test_a_retry_that_is_due_counts_no_crash() -> None:
    outcome = admitted(state=JobState.RETRY_SCHEDULED, crashes=2, attempt=1)
    assert isinstance(outcome, Claimable)
    assert (outcome.job.crashes, outcome.job.attempt) == (2, 1)
