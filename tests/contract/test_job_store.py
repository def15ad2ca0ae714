"""The contract of JobStore: jobs."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.errors import Conflict
from shared.jobs import Category, Failure, JobState, Lease, StoredResult
from shared.ports import Row, RowKind
from tests.contract.stores import Stores
from tests.support.records import MOMENT, a_job, minutes_later


async def test_an_inserted_job_is_loaded_with_every_field(stores: Stores) -> None:
    job = a_job(
        user_id="usér 204 \U0001f6a2",
        event_time=minutes_later(1) + timedelta(microseconds=123456),
        state=JobState.DEAD,
        release=2,
        turn=3,
        claim=4,
        attempt=5,
        crashes=6,
        lease=Lease(token="t", until=minutes_later(2)),
        not_before=minutes_later(3),
        failure=Failure(
            code="task_failed",
            category=Category.MANUAL_REVIEW,
            message="It failed.",
            at=MOMENT,
            attempts=5,
            worker="w",
            app_version="1",
            input_ref=None,
        ),
        result=StoredResult(ref="results/a/0", content_type="application/json", sha256="f" * 64, size=3),
        case_release=2,
    )
    assert await stores.jobs.insert(job, [])
    snapshot = await stores.jobs.load(job.job_id)
    assert snapshot is not None
    assert snapshot.job == job


async def test_a_second_insert_changes_nothing_and_says_so(stores: Stores) -> None:
    row = Row(kind=RowKind.INPUT, key="first")
    assert await stores.jobs.insert(a_job(event_id="first"), [row])
    assert not await stores.jobs.insert(a_job(event_id="second"), [Row(kind=RowKind.INPUT, key="second")])
    snapshot = await stores.jobs.load("job_a")
    assert snapshot is not None
    assert snapshot.job.event_id == "first"
    assert await stores.jobs.rows("job_a", RowKind.INPUT) == [row]


async def test_of_twenty_parallel_inserts_exactly_one_wins(stores: Stores) -> None:
    attempts = (stores.jobs.insert(a_job(event_id=str(n)), []) for n in range(20))
    assert sorted(await asyncio.gather(*attempts)) == [False] * 19 + [True]


async def test_an_unknown_job_is_none(stores: Stores) -> None:
    assert await stores.jobs.load("job_nowhere") is None


@pytest.mark.parametrize("job_id", ["", "a/b", "a\\b", "a#b", "a?b", "a\tb", "a\x85b", "\ud800", "x" * 600])
async def test_an_id_that_no_storage_takes_is_an_unknown_job(stores: Stores, job_id: str) -> None:
    assert await stores.jobs.load(job_id) is None
    assert await stores.jobs.rows(job_id, RowKind.TIMELINE) == []
    assert await stores.jobs.row(job_id, RowKind.INPUT, "a") is None
    with pytest.raises(ValueError, match="job id"):
        await stores.jobs.insert(a_job(job_id), [])


@pytest.mark.parametrize(
    "job_id", ["it's", 'a "b"', "a%2Fb", "50%", "a+b", "é中", "a=b&c", "a,b;c:d|e(f)!~@"]
)
async def test_odd_ids_are_kept_apart_and_found(stores: Stores, job_id: str) -> None:
    assert await stores.jobs.insert(a_job(job_id), [Row(kind=RowKind.INPUT, key=job_id, content=b"x")])
    snapshot = await stores.jobs.load(job_id)
    assert snapshot is not None
    assert snapshot.job.job_id == job_id
    changed = await stores.jobs.commit(snapshot, snapshot.job.changed(MOMENT, turn=1))
    assert changed.job.turn == 1
    assert await stores.jobs.row(job_id, RowKind.INPUT, job_id) is not None


async def test_a_commit_replaces_the_job_and_adds_its_rows(stores: Stores) -> None:
    await stores.jobs.insert(a_job(), [])
    before = await stores.jobs.load("job_a")
    assert before is not None
    running = before.job.moved(JobState.RUNNING, minutes_later(1), claim=1)
    row = Row(kind=RowKind.ATTEMPT, key="1", data={"n": 1, "nested": {"list": [1, "é", None, True]}})
    after = await stores.jobs.commit(before, running, [row])
    loaded = await stores.jobs.load("job_a")
    assert loaded is not None
    assert after.job == loaded.job == running
    assert after.version == loaded.version != before.version
    assert await stores.jobs.rows("job_a", RowKind.ATTEMPT) == [row]


async def test_a_commit_on_an_older_version_is_a_conflict_and_writes_nothing(stores: Stores) -> None:
    await stores.jobs.insert(a_job(), [])
    old = await stores.jobs.load("job_a")
    assert old is not None
    await stores.jobs.commit(old, old.job.changed(MOMENT, turn=1))
    with pytest.raises(Conflict):
        await stores.jobs.commit(old, old.job.changed(MOMENT, turn=2), [Row(kind=RowKind.DECISION, key="no")])
    now = await stores.jobs.load("job_a")
    assert now is not None
    assert now.job.turn == 1
    assert await stores.jobs.rows("job_a", RowKind.DECISION) == []


async def test_a_commit_on_a_job_that_is_not_there_is_a_conflict(stores: Stores) -> None:
    await stores.jobs.insert(a_job(), [])
    snapshot = await stores.jobs.load("job_a")
    assert snapshot is not None
    elsewhere = a_job("job_b")
    with pytest.raises(Conflict):
        await stores.jobs.commit(replace(snapshot, job=elsewhere), elsewhere)


async def test_a_commit_cannot_move_to_another_job(stores: Stores) -> None:
    await stores.jobs.insert(a_job(), [])
    snapshot = await stores.jobs.load("job_a")
    assert snapshot is not None
    with pytest.raises(ValueError, match="id"):
        await stores.jobs.commit(snapshot, a_job("job_b"))


async def test_of_twenty_parallel_commits_exactly_one_wins(stores: Stores) -> None:
    await stores.jobs.insert(a_job(), [])
    snapshot = await stores.jobs.load("job_a")
    assert snapshot is not None

    async def claim(number: int) -> bool:
        try:
            await stores.jobs.commit(snapshot, snapshot.job.changed(MOMENT, claim=number))
        except Conflict:
            return False
        return True

    assert sum(await asyncio.gather(*(claim(n) for n in range(1, 21)))) == 1


async def test_commits_follow_one_another_from_the_snapshots_they_return(stores: Stores) -> None:
    await stores.jobs.insert(a_job(), [])
    snapshot = await stores.jobs.load("job_a")
    assert snapshot is not None
    for turn in range(1, 4):
        snapshot = await stores.jobs.commit(snapshot, snapshot.job.changed(MOMENT, turn=turn))
    assert snapshot.job.turn == 3


async def test_the_time_of_a_read_never_goes_back_and_has_a_zone(stores: Stores) -> None:
    await stores.jobs.insert(a_job(), [])
    snapshot = await stores.jobs.load("job_a")
    assert snapshot is not None
    committed = await stores.jobs.commit(snapshot, snapshot.job.changed(MOMENT, turn=1))
    assert snapshot.read_at.utcoffset() == timedelta(0)
    assert committed.read_at >= snapshot.read_at
