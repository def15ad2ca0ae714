"""The worker on one message: what it writes, sends, returns and raises."""

import json
from datetime import timedelta
from typing import Any

import pytest

from shared.errors import (
    DeadLettered,
    NewerSchema,
    PermanentError,
    QueueUnavailable,
    StorageUnavailable,
    TransientError,
    UnreadableMessage,
)
from shared.jobs import Category, Job, JobState, Lease, result_ref
from shared.messages import JobMessage
from shared.ports import RowKind
from shared.worker.run import Worker
from tests.support.application import BACKOFF, ScriptedTask, build_services, new_job, store
from tests.support.fakes import World


class Bench:
    """A worker with its world and a scripted task."""

    def __init__(self, **changes: Any) -> None:
        self.world = World()
        self.task = ScriptedTask()
        self.services = build_services(self.world, self.task, **changes)
        self.worker = Worker(self.services)

    async def handle(self, job: Job, *, turn: int | None = None) -> None:
        message = JobMessage.for_job(job, turn=turn)
        await self.worker.handle(message.body(), message.properties(), message.message_id)

    async def dead(self, job: Job, code: str) -> None:
        with pytest.raises(DeadLettered, match=f": {code}$") as caught:
            await self.handle(job)
        assert caught.value.__cause__ is None

    def stored(self, job: Job) -> Job:
        return self.world.jobs.job(job.job_id)


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_a_job_runs_to_its_result(bench: Bench) -> None:
    job = await store(bench.world, new_job(bench.world))
    await bench.handle(job)
    done = bench.stored(job)
    assert (done.state, done.claim, done.attempt, done.lease) == (JobState.SUCCEEDED, 1, 0, None)
    assert done.result is not None
    assert bench.world.blobs.content(done.result.ref) == b"result of run 1"
    assert bench.world.open.keys() == set()
    events = [row.data["event"] for row in await bench.world.jobs.rows(job.job_id, RowKind.TIMELINE)]
    assert events == ["started", "succeeded"]


async def test_the_task_gets_the_stored_document(bench: Bench) -> None:
    job = await store(bench.world, new_job(bench.world))
    await bench.handle(job)
    task_input, context = bench.task.runs[0]
    assert (task_input.content, task_input.name) == (b"A short report.", "report.txt")
    assert (context.job_id, context.attempt, context.release) == (job.job_id, 0, 0)


async def test_the_second_delivery_of_a_finished_job_runs_nothing(bench: Bench) -> None:
    job = await store(bench.world, new_job(bench.world))
    await bench.handle(job)
    await bench.handle(job)
    assert len(bench.task.runs) == 1
    assert bench.world.bus.sent == []


async def test_a_transient_failure_sends_the_next_turn_and_waits(bench: Bench) -> None:
    bench.task.script = [TransientError("busy")]
    job = await store(bench.world, new_job(bench.world))
    await bench.handle(job)
    waiting = bench.stored(job)
    assert (waiting.state, waiting.turn, waiting.attempt) == (JobState.RETRY_SCHEDULED, 1, 1)
    (sent,) = bench.world.bus.sent
    assert (sent.message_id, sent.at, sent.message.attempt) == (f"{job.job_id}:0:1", waiting.not_before, 1)
    assert sent.at is not None
    assert BACKOFF <= sent.at - bench.world.clock.now() <= BACKOFF * 1.2


async def test_the_next_turn_is_the_only_one_that_runs_it(bench: Bench) -> None:
    bench.task.script = [TransientError("busy")]
    job = await store(bench.world, new_job(bench.world))
    await bench.handle(job)
    bench.world.clock.advance(60)
    await bench.handle(job)
    assert bench.stored(job).state is JobState.RETRY_SCHEDULED
    await bench.handle(job, turn=1)
    assert bench.stored(job).state is JobState.SUCCEEDED


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


async def test_a_live_lease_is_left_alone_and_looked_at_again(bench: Bench) -> None:
    until = bench.world.clock.now() + timedelta(seconds=40)
    lease = Lease(token="other", until=until)
    job = await store(bench.world, new_job(bench.world, state=JobState.RUNNING, claim=1, lease=lease))
    await bench.handle(job)
    await bench.handle(job)
    first, second = bench.world.bus.accepted()
    assert first.at == second.at == until
    assert first.message_id.startswith(f"{job.job_id}:0:0:")
    assert first.message_id != second.message_id
    assert bench.task.runs == []


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


async def test_a_newer_message_waits_for_its_version_byte_for_byte(bench: Bench) -> None:
    body, properties = json.dumps({"schema": 2, "job": "x"}).encode(), {"release": 0, "turn": 3, "blob": b"x"}
    await bench.worker.handle(body, properties, "first")
    await bench.worker.handle(body, properties, bench.world.bus.sent[0].message_id)
    first, second = bench.world.bus.accepted()
    assert (first.body, first.properties) == (body, {"release": 0, "turn": 3})
    assert first.at == bench.world.clock.now() + timedelta(minutes=5)
    assert second.message_id.startswith("first~")
    assert second.message_id.count("~") == 1
    with pytest.raises(NewerSchema):
        _ = first.message


async def test_while_storage_is_away_the_message_comes_back_in_30_to_60_seconds(bench: Bench) -> None:
    job = await store(bench.world, new_job(bench.world))
    bench.world.storage_down()
    for fraction in (0.0, 0.999):
        bench.world.randomness.next_fractions = [fraction]
        await bench.handle(job)
    delays = [sent.at - bench.world.clock.now() for sent in bench.world.bus.accepted() if sent.at]
    assert delays[0] == timedelta(seconds=30)
    assert timedelta(seconds=59) < delays[1] < timedelta(seconds=60)


async def test_with_bus_and_storage_away_it_holds_for_a_minute_and_then_raises(bench: Bench) -> None:
    job = await store(bench.world, new_job(bench.world))
    bench.world.storage_down()
    bench.world.bus.down = True
    start = bench.world.clock.now()
    with pytest.raises(QueueUnavailable):
        await bench.handle(job)
    assert timedelta(seconds=40) < bench.world.clock.now() - start <= timedelta(seconds=60)


async def test_a_bus_that_comes_back_within_the_minute_gets_the_nudge(bench: Bench) -> None:
    job = await store(bench.world, new_job(bench.world))
    bench.world.storage_down()
    bench.world.bus.fail_next("send", times=5)
    await bench.handle(job)
    assert len(bench.world.bus.accepted()) == 1


async def test_a_claim_whose_answer_was_lost_is_still_ours(bench: Bench) -> None:
    job = await store(bench.world, new_job(bench.world))
    bench.world.jobs.fail_next("commit", after=True)
    await bench.handle(job)
    assert (bench.stored(job).state, bench.stored(job).claim) == (JobState.SUCCEEDED, 1)


async def test_a_lost_race_for_the_claim_is_decided_on_the_row_as_it_is_then(bench: Bench) -> None:
    job = await store(bench.world, new_job(bench.world))
    other = Worker(build_services(bench.world, bench.task))

    async def first() -> None:
        message = JobMessage.for_job(job)
        await other.handle(message.body(), message.properties(), None)

    bench.world.jobs.before("commit", first)
    await bench.handle(job)
    assert len(bench.task.runs) == 1
    assert bench.stored(job).claim == 1


async def test_a_result_that_an_earlier_claim_stored_is_kept(bench: Bench) -> None:
    lease = Lease(token="other", until=bench.world.clock.now() - timedelta(seconds=1))
    job = await store(bench.world, new_job(bench.world, state=JobState.RUNNING, claim=1, lease=lease))
    bench.world.blobs.put_now(result_ref(job), b"earlier", "text/plain")
    await bench.handle(job)
    done = bench.stored(job)
    assert bench.task.runs == []
    assert done.result is not None
    assert (done.result.size, done.result.content_type) == (7, "text/plain")


async def test_an_outage_during_the_task_gives_the_claim_back_without_counting_it(bench: Bench) -> None:
    job = await store(bench.world, new_job(bench.world))
    for _ in range(7):
        bench.world.blobs.down = True
        await bench.handle(job)
        bench.world.clock.advance(60)
        assert bench.stored(job).state is JobState.RETRY_SCHEDULED
    assert (bench.stored(job).crashes, bench.stored(job).attempt) == (0, 0)
    bench.world.blobs.down = False
    await bench.handle(job)
    assert bench.stored(job).state is JobState.SUCCEEDED


async def test_a_read_that_meets_an_outage_is_no_timeout_of_the_task(bench: Bench) -> None:
    job = await store(bench.world, new_job(bench.world))
    bench.world.blobs.down = True
    start = bench.world.clock.now()
    await bench.handle(job)
    assert bench.world.clock.now() - start <= timedelta(seconds=30)
    assert bench.world.telemetry.counted("retries_scheduled") == 0


async def test_a_timeout_of_something_the_task_called_is_told_from_its_own(bench: Bench) -> None:
    bench.task.script = [TimeoutError()] * 3
    job = await store(bench.world, new_job(bench.world, attempt=2))
    await bench.dead(job, "attempt_timed_out")
    failure = bench.stored(job).failure
    assert failure is not None
    assert "called" in failure.message


async def test_an_outage_in_finishing_is_made_good_by_the_next_delivery(bench: Bench) -> None:
    job = await store(bench.world, new_job(bench.world))
    bench.world.open.down = True
    await bench.handle(job)
    assert bench.stored(job).state is JobState.SUCCEEDED
    assert bench.world.open.keys() == {(job.job_id, 0)}
    bench.world.open.down = False
    await bench.handle(job)
    assert bench.world.open.keys() == set()


async def test_the_answer_to_an_outage_needs_no_storage(bench: Bench) -> None:
    bench.world.storage_down()
    job = new_job(bench.world)
    await bench.handle(job)
    assert bench.world.telemetry.counted("storage_away") == 1
    with pytest.raises(StorageUnavailable):
        await bench.world.jobs.load(job.job_id)
