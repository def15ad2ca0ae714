"""The worker on one message: what it runs, once, and what it leaves to others."""

import json
from datetime import timedelta

import pytest

from shared.errors import NewerSchema, TransientError
from shared.jobs import JobState, Lease, result_ref
from shared.messages import JobMessage
from shared.ports import RowKind
from shared.worker.run import Worker
from tests.support.application import BACKOFF, build_services, new_job, store
from tests.unit.shared.worker.bench import Bench


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
