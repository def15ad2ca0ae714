"""Rows that a newer version wrote: while both versions run, the older one leaves them to the newer."""

import pytest

from shared.jobs import JobState
from shared.records import RecordUnreadable
from shared.worker.run import NEWER_VERSION_PAUSE
from tests.support.application import new_job, store
from tests.unit.shared.worker.bench import Bench


async def test_a_job_in_a_newer_form_comes_back_and_is_no_case(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Bench()
    job = await store(bench.world, new_job(bench.world))
    bench.world.jobs.fail_next("load", RecordUnreadable("a newer form"))
    await bench.handle(job)
    [sent] = bench.world.bus.sent
    assert (sent.at, bench.task.runs) == (bench.world.clock.now() + NEWER_VERSION_PAUSE, [])
    assert bench.stored(job) == job
    assert bench.world.telemetry.counted("records_unreadable") == 1
    assert f"{job.job_id} waits for a newer version" in caplog.text
    bench.world.clock.advance(NEWER_VERSION_PAUSE)
    await bench.handle(job)
    assert bench.stored(job).state is JobState.SUCCEEDED
