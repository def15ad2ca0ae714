"""States, transitions and the identity of a job."""

import itertools
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.errors import IllegalTransition
from shared.jobs import FINAL, JOB_ID, TRANSITIONS, JobState, job_id_for, result_ref
from tests.support.application import new_job
from tests.support.fakes import World


def test_the_final_states_are_succeeded_closed_and_cancelled() -> None:
    assert {JobState.SUCCEEDED, JobState.CLOSED, JobState.CANCELLED} == FINAL
    assert set(TRANSITIONS) == set(JobState)


@pytest.mark.parametrize(("old", "new"), list(itertools.product(JobState, JobState)))
def test_a_job_moves_only_as_the_table_says(old: JobState, new: JobState) -> None:
    world = World()
    job = new_job(world, state=old)
    if new in TRANSITIONS[old]:
        moved = job.moved(new, world.clock.now(), attempt=3)
        assert (moved.state, moved.attempt) == (new, 3)
    else:
        with pytest.raises(IllegalTransition):
            job.moved(new, world.clock.now())


def test_the_time_of_change_never_goes_back() -> None:
    job = new_job(World(), state=JobState.RUNNING)
    earlier, later = job.updated_at - timedelta(seconds=1), job.updated_at + timedelta(seconds=1)
    assert job.moved(JobState.SUCCEEDED, earlier).updated_at == job.updated_at
    assert job.changed(earlier).updated_at == job.updated_at
    assert job.moved(JobState.SUCCEEDED, later).updated_at == job.changed(later).updated_at == later


def test_a_dead_job_leaves_only_by_a_decision() -> None:
    assert TRANSITIONS[JobState.DEAD] == {JobState.QUEUED, JobState.CLOSED}


def test_a_job_id_is_stable_and_fit_for_keys() -> None:
    first = job_id_for("github", "", "evt_1")
    assert first == job_id_for("github", "", "evt_1")
    assert JOB_ID.fullmatch(first)


@pytest.mark.parametrize(
    "other",
    [("github", "", "evt_2"), ("github", "e", "vt_1"), ("githube", "", "vt_1"), ("", "github", "evt_1")],
)
def test_other_parts_never_give_the_same_job_id(other: tuple[str, str, str]) -> None:
    assert job_id_for(*other) != job_id_for("github", "", "evt_1")


def test_a_case_is_filed_only_for_the_present_release() -> None:
    job = new_job(World(), state=JobState.DEAD, release=1, case_release=0)
    assert not job.case_filed
    assert replace(job, case_release=1).case_filed
    assert not replace(job, state=JobState.QUEUED, case_release=1).case_filed


def test_each_release_and_each_input_has_a_result_of_its_own() -> None:
    job = new_job(World())
    refs = {
        result_ref(job),
        result_ref(replace(job, release=1)),
        result_ref(replace(job, input_ref="inputs/b")),
    }
    assert len(refs) == 3
    assert result_ref(job) == result_ref(replace(job, attempt=2, claim=9))
