"""Retention: what is deleted when, what never is, and what a crash leaves to the next run."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.deadletters.decisions import Decision
from shared.errors import Conflict, StorageUnavailable
from shared.failpoints import Point
from shared.finishing import tidy
from shared.inputs import place_input
from shared.jobs import Job, JobState, Review, StoredResult
from shared.pipeline.policies import RetentionPolicy
from shared.ports import Row, RowKind
from shared.records import RecordUnreadable
from shared.retention.ports import EndedJob, Left
from shared.retention.run import MOST_JOBS, Due, Retention, due, horizon, remaining
from shared.reviews import review
from shared.services import Services
from tests.support.application import DOCUMENT, build_services, new_job, pipeline, store
from tests.support.fakes import World
from tests.support.kills import killed_at

DAYS = timedelta(days=1)
POLICY = RetentionPolicy(inputs=10 * DAYS, results=30 * DAYS)


def services_of(world: World, policy: RetentionPolicy = POLICY) -> Services:
    return build_services(world, pipeline=replace(pipeline(), retention=policy))


async def ended_job(world: World, event_id: str = "evt_1", **changes: Any) -> Job:
    """A finished job with an inline input, a large one, an input of an earlier release, and a result."""
    job_id = new_job(world, event_id).job_id
    inline, large = place_input(job_id, b"note"), place_input(job_id, b"x" * 40_000)
    assert inline.row is not None
    result = StoredResult(ref=f"results/{job_id}/0-abc", content_type="text/plain", sha256="0" * 64, size=1)
    given = {"state": JobState.SUCCEEDED, "input_ref": large.ref, "result": result}
    job = await store(world, new_job(world, event_id, **(given | changes)))
    await world.jobs.add_row(job_id, inline.row)
    world.blobs.put_now(large.ref, b"x" * 40_000)
    world.blobs.put_now(f"results/{job_id}/0-abc", b"r")
    decision = Row(kind=RowKind.DECISION, key="000000-closed", data={"operator": "ada"})
    await world.jobs.add_row(job_id, decision)
    await tidy(services_of(world), job, 0)
    return job


async def run_after(world: World, days: float, policy: RetentionPolicy = POLICY) -> None:
    world.clock.advance(days * DAYS)
    await Retention(services_of(world, policy)).run()


async def contents(world: World, job: Job) -> set[str]:
    """What of the job's contents is stored: inline, inputs, results."""
    found = {ref.split("/")[0] for ref in world.blobs.refs() if job.job_id in ref}
    return found | ({"inline"} if await world.jobs.rows(job.job_id, RowKind.INPUT) else set())


async def test_each_kind_goes_after_its_own_time(world: World) -> None:
    job = await ended_job(world)
    await run_after(world, 10)
    assert await contents(world, job) == {"inline", "inputs", "results"}
    await run_after(world, 1)
    assert await contents(world, job) == {"results"}
    now = world.jobs.job(job.job_id)
    assert (now.inputs_gone, now.result_gone, now.state) == (True, False, JobState.SUCCEEDED)
    await run_after(world, 20)
    assert await contents(world, job) == set()
    assert world.jobs.job(job.job_id).result_gone
    assert world.retention.all_ended() == []


async def test_decisions_timeline_and_others_documents_are_kept(world: World) -> None:
    job = await ended_job(world)
    other = f"inputs/{job.job_id}x/report.txt"
    world.blobs.put_now(DOCUMENT, b"Somebody's.")
    world.blobs.put_now(other, b"Somebody's.")
    await run_after(world, 99)
    assert world.blobs.refs() == sorted([DOCUMENT, other])
    assert len(await world.jobs.rows(job.job_id, RowKind.DECISION)) == 1
    told = [row.data["event"] for row in await world.jobs.rows(job.job_id, RowKind.TIMELINE)]
    assert told == ["inputs_deleted", "result_deleted"]


@pytest.mark.parametrize(
    ("policy", "left"),
    [
        (RetentionPolicy(), {"inline", "inputs", "results"}),
        (RetentionPolicy(inputs=DAYS), {"results"}),
        (RetentionPolicy(results=DAYS), {"inline", "inputs"}),
        (RetentionPolicy(inputs=DAYS, results=DAYS), set()),
    ],
)
async def test_what_has_no_time_is_kept_for_ever(
    world: World, policy: RetentionPolicy, left: set[str]
) -> None:
    job = await ended_job(world)
    await run_after(world, 1000, policy)
    assert await contents(world, job) == left


async def test_a_policy_that_is_changed_later_reaches_what_was_kept(world: World) -> None:
    job = await ended_job(world)
    await run_after(world, 50, RetentionPolicy())
    await run_after(world, 1, RetentionPolicy(inputs=DAYS))
    await run_after(world, 1, RetentionPolicy(inputs=DAYS, results=10 * DAYS))
    assert await contents(world, job) == set()
    assert world.retention.all_ended() == []


async def test_a_run_with_nothing_due_reads_no_job(world: World) -> None:
    for number in range(3):
        await ended_job(world, f"evt_{number}")
    await run_after(world, 11)
    world.jobs.calls.clear()
    await run_after(world, 5)
    assert world.jobs.calls == []


@pytest.mark.parametrize("point", [Point.RETENTION_AFTER_MARK, Point.RETENTION_AFTER_DELETE])
@pytest.mark.parametrize("days", [11, 31])
async def test_a_kill_is_made_good_by_the_next_run(world: World, point: Point, days: int) -> None:
    job = await ended_job(world)
    async with killed_at(point):
        await run_after(world, days)
    await run_after(world, 0)
    assert await contents(world, job) == ({"results"} if days == 11 else set())
    told = [row.data["event"] for row in await world.jobs.rows(job.job_id, RowKind.TIMELINE)]
    assert len(told) == len(set(told))


@pytest.mark.parametrize(
    ("store_name", "method"),
    [
        ("jobs", "load"),
        ("jobs", "commit"),
        ("jobs", "delete_row"),
        ("blobs", "delete_below"),
        ("retention", "put"),
        ("retention", "remove"),
        ("retention", "ended_before"),
    ],
)
@pytest.mark.parametrize("after", [False, True])
async def test_an_outage_is_made_good_by_the_next_run(
    world: World, store_name: str, method: str, after: bool
) -> None:
    job = await ended_job(world)
    getattr(world, store_name).fail_next(method, after=after)
    with pytest.raises(StorageUnavailable):
        await run_after(world, 11)
    await run_after(world, 0)
    assert await contents(world, job) == {"results"}
    assert [entry.left for entry in world.retention.all_ended()] == [Left.RESULTS]


@pytest.mark.parametrize("error", [Conflict("changed"), RecordUnreadable("odd"), RuntimeError("odd")])
async def test_what_is_wrong_with_one_job_does_not_keep_the_others(world: World, error: Exception) -> None:
    jobs = [await ended_job(world, f"evt_{number}") for number in range(3)]
    world.jobs.fail_next("commit", error)
    await run_after(world, 31)
    assert [await contents(world, job) for job in jobs].count(set()) == 2
    await run_after(world, 0)
    assert [await contents(world, job) for job in jobs] == [set()] * 3


@pytest.mark.parametrize("verdict", [Review.APPROVED, Review.REJECTED])
async def test_what_waits_for_a_review_is_kept_and_its_time_counts_from_the_verdict(
    world: World, verdict: Review
) -> None:
    job = await ended_job(world, review=Review.PENDING)
    await run_after(world, 99)
    assert await contents(world, job) == {"inline", "inputs", "results"}
    await review(services_of(world), job.job_id, Decision(operator="ada", reason="Seen."), verdict)
    await run_after(world, 10)
    assert await contents(world, job) == {"inline", "inputs", "results"}
    await run_after(world, 1)
    assert await contents(world, job) == {"results"}
    await run_after(world, 20)
    assert await contents(world, job) == set()


async def test_an_entry_of_a_job_under_review_is_taken_off_the_index(world: World) -> None:
    job = await ended_job(world, review=Review.PENDING)
    await world.retention.put(EndedJob(job_id=job.job_id, day=job.updated_at.date()))
    await run_after(world, 99)
    assert await contents(world, job) == {"inline", "inputs", "results"}
    assert world.retention.all_ended() == []


async def test_a_job_that_has_not_ended_is_not_touched(world: World) -> None:
    job = await ended_job(world, state=JobState.DEAD)
    entry = EndedJob(job_id=job.job_id, day=job.updated_at.date())
    await world.retention.put(entry)
    await run_after(world, 99)
    assert await contents(world, job) == {"inline", "inputs", "results"}
    assert world.retention.all_ended() == []


async def test_one_run_goes_through_so_many_jobs_and_leaves_the_rest(world: World) -> None:
    class Endless:
        read = 0

        async def ended_before(self, day: date, left: Left) -> AsyncIterator[EndedJob]:
            while True:
                self.read += 1
                yield EndedJob(job_id=f"job_{self.read}", day=day)

        async def put(self, ended: EndedJob) -> None: ...

        async def remove(self, ended: EndedJob) -> None: ...

    endless = Endless()
    await Retention(replace(services_of(world), retention=endless)).run()
    assert MOST_JOBS <= endless.read <= MOST_JOBS + len(Left)


moments = st.timedeltas(timedelta(0), timedelta(days=3650)).map(
    lambda passed: datetime(2020, 1, 1, tzinfo=UTC) + passed
)
times = st.none() | st.timedeltas(timedelta(hours=1), timedelta(days=400))


@given(now=moments, days=st.integers(0, 500), inputs=times, results=times, left=st.sampled_from(Left))
def test_what_the_index_gives_is_due_and_nothing_due_is_missed(
    now: datetime, days: int, inputs: timedelta | None, results: timedelta | None, left: Left
) -> None:
    policy, day = RetentionPolicy(inputs=inputs, results=results), now.date() - timedelta(days=days)
    end, what = horizon(policy, left, now), due(policy, day, now)
    wanted = {Left.ALL: what.inputs or what.results, Left.INPUTS: what.inputs, Left.RESULTS: what.results}
    assert (end is not None and day < end) is wanted[left]


@pytest.mark.parametrize(
    ("left", "what", "then"),
    [
        (Left.ALL, Due(inputs=True, results=True), None),
        (Left.ALL, Due(inputs=True, results=False), Left.RESULTS),
        (Left.ALL, Due(inputs=False, results=True), Left.INPUTS),
        (Left.ALL, Due(inputs=False, results=False), Left.ALL),
        (Left.INPUTS, Due(inputs=True, results=False), None),
        (Left.INPUTS, Due(inputs=False, results=True), Left.INPUTS),
        (Left.RESULTS, Due(inputs=True, results=True), None),
    ],
)
def test_what_is_left_follows_from_what_was_deleted(left: Left, what: Due, then: Left | None) -> None:
    assert remaining(left, what) is then
