"""What the worker puts before a person: written down once, with a code of its own and nothing private."""

from datetime import timedelta

import pytest

from shared.errors import DeadLettered, PermanentError, TransientError, UnreadableMessage
from shared.jobs import Category, JobState, Lease
from shared.ports import RowKind
from tests.support.application import new_job, store
from tests.unit.shared.worker.bench import Bench


async def test_a_permanent_failure_is_written_down_and_raised(bench: Bench) -> None:
    bench.task.script = [PermanentError("No text in it.")]
    job = await store(bench.world, new_job(bench.world))
    await bench.dead(job, "permanent")
    dead = bench.stored(job)
    assert dead.state is JobState.DEAD
    assert dead.failure is not None
    assert (dead.failure.category, dead.failure.attempts) == (Category.FIX_INPUT, 1)
    assert bench.world.open.keys() == {(job.job_id, 0)}
    await bench.dead(job, "already_dead")
    assert len(bench.task.runs) == 1


async def test_a_defect_in_a_task_never_shows_its_text(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.task.script = [ValueError("MARKED-SECRET in the document")]
    job = await store(bench.world, new_job(bench.world))
    await bench.dead(job, "task_failed")
    failure = bench.stored(job).failure
    assert failure is not None
    assert failure.category is Category.MANUAL_REVIEW
    assert "MARKED-SECRET" not in failure.message + caplog.text
    assert "ValueError" in failure.message


async def test_all_attempts_spent_end_before_a_person(bench: Bench) -> None:
    bench.task.script = [TransientError("busy")] * 3
    job = await store(bench.world, new_job(bench.world))
    for turn in range(2):
        await bench.handle(job, turn=turn)
        bench.world.clock.advance(60)
    with pytest.raises(DeadLettered):
        await bench.handle(job, turn=2)
    failure = bench.stored(job).failure
    assert failure is not None
    assert (failure.attempts, failure.category) == (3, Category.MANUAL_REVIEW)


async def test_a_task_that_is_not_deployed_goes_before_a_person() -> None:
    bench = Bench(tasks={})
    job = await store(bench.world, new_job(bench.world))
    await bench.dead(job, "unknown_task")


async def test_five_crashes_kill_the_job_with_one_failure(bench: Bench) -> None:
    lease = Lease(token="other", until=bench.world.clock.now() - timedelta(seconds=1))
    crashing = new_job(bench.world, state=JobState.RUNNING, claim=5, crashes=4, lease=lease)
    job = await store(bench.world, crashing)
    await bench.dead(job, "crashed")
    await bench.dead(job, "already_dead")
    assert bench.stored(job).claim == 6
    assert bench.task.runs == []


@pytest.mark.parametrize(("effects", "code"), [((), "crashed"), (("submit",), "outcome_unknown")])
async def test_log_timeline_and_counter_tell_a_crashed_job_s_own_code(
    bench: Bench, effects: tuple[str, ...], code: str
) -> None:
    lease = Lease(token="other", until=bench.world.clock.now() - timedelta(seconds=1))
    crashing = new_job(
        bench.world, state=JobState.RUNNING, claim=5, crashes=4, lease=lease, open_effects=effects
    )
    job = await store(bench.world, crashing)
    await bench.dead(job, code)
    failure = bench.stored(job).failure
    assert failure is not None
    assert failure.code == code
    timeline = await bench.world.jobs.rows(job.job_id, RowKind.TIMELINE)
    assert [(row.data["event"], row.data["code"]) for row in timeline] == [("dead", code)]
    assert bench.world.telemetry.counted("jobs_dead", code=code) == 1


async def test_a_message_of_no_job_is_dead_lettered(bench: Bench) -> None:
    await bench.dead(new_job(bench.world), "no_such_job")


async def test_an_unreadable_message_is_raised(bench: Bench) -> None:
    with pytest.raises(UnreadableMessage):
        await bench.worker.handle(b"nonsense", {}, "id")


async def test_a_timeout_of_something_the_task_called_is_told_from_its_own(bench: Bench) -> None:
    bench.task.script = [TimeoutError()] * 3
    job = await store(bench.world, new_job(bench.world, attempt=2))
    await bench.dead(job, "attempt_timed_out")
    failure = bench.stored(job).failure
    assert failure is not None
    assert "called" in failure.message
