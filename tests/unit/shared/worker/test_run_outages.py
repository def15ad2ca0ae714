"""The worker while storage or the bus is away: the job comes back, and no attempt is counted."""

from datetime import timedelta

import pytest

from shared.errors import QueueUnavailable, StorageUnavailable
from shared.jobs import JobState
from tests.support.application import new_job, store
from tests.unit.shared.worker.bench import Bench


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
