"""The contract of JobStore."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.errors import Conflict
from shared.jobs import Category, Failure, JobState, Lease, StoredResult
from shared.ports import Row, RowKind
from shared.records import RecordTooLarge
from tests.contract.conftest import Stores
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


async def test_rows_come_back_by_kind_in_the_order_of_their_keys(stores: Stores) -> None:
    keys = ["b", "a", "10", "9", "z:1"]
    await stores.jobs.insert(a_job(), [Row(kind=RowKind.TIMELINE, key=key) for key in keys])
    await stores.jobs.add_row("job_a", Row(kind=RowKind.ATTEMPT, key="c"))
    assert [row.key for row in await stores.jobs.rows("job_a", RowKind.TIMELINE)] == sorted(keys)


async def test_a_row_is_overwritten_by_the_same_key_and_leaves_the_job_alone(stores: Stores) -> None:
    await stores.jobs.insert(a_job(), [])
    before = await stores.jobs.load("job_a")
    await stores.jobs.add_row("job_a", Row(kind=RowKind.INPUT, key="k", data={"a": 1}, content=b"\x00\xff"))
    latest = Row(kind=RowKind.INPUT, key="k", data={"b": 2})
    await stores.jobs.add_row("job_a", latest)
    assert await stores.jobs.row("job_a", RowKind.INPUT, "k") == latest
    after = await stores.jobs.load("job_a")
    assert before is not None
    assert after is not None
    assert before.version == after.version


@pytest.mark.parametrize("content", [None, b"", b"\x00\xff" * 1000, b"x" * 48 * 1024])
async def test_content_comes_back_byte_for_byte(stores: Stores, content: bytes | None) -> None:
    await stores.jobs.insert(a_job(), [Row(kind=RowKind.INPUT, key="body", content=content)])
    row = await stores.jobs.row("job_a", RowKind.INPUT, "body")
    assert row is not None
    assert row.content == content


async def test_a_missing_row_is_none(stores: Stores) -> None:
    await stores.jobs.insert(a_job(), [])
    assert await stores.jobs.row("job_a", RowKind.INPUT, "none") is None


async def test_content_over_the_limit_is_refused_before_anything_is_written(stores: Stores) -> None:
    row = Row(kind=RowKind.INPUT, key="body", content=b"x" * (48 * 1024 + 1))
    with pytest.raises(RecordTooLarge, match="49153 bytes"):
        await stores.jobs.insert(a_job(), [row])
    assert await stores.jobs.load("job_a") is None


async def test_data_over_the_limit_of_one_column_is_refused(stores: Stores) -> None:
    await stores.jobs.insert(a_job(), [])
    snapshot = await stores.jobs.load("job_a")
    assert snapshot is not None
    row = Row(kind=RowKind.DECISION, key="k", data={"text": "x" * 33_000})
    with pytest.raises(RecordTooLarge, match="data"):
        await stores.jobs.commit(snapshot, snapshot.job, [row])
    with pytest.raises(RecordTooLarge, match="data"):
        await stores.jobs.add_row("job_a", row)


async def test_more_rows_than_one_batch_takes_are_refused(stores: Stores) -> None:
    rows = [Row(kind=RowKind.TIMELINE, key=str(n)) for n in range(100)]
    with pytest.raises(RecordTooLarge, match="101"):
        await stores.jobs.insert(a_job(), rows)
    assert await stores.jobs.insert(a_job(), rows[:99])
    assert len(await stores.jobs.rows("job_a", RowKind.TIMELINE)) == 99


@pytest.mark.parametrize("data", [{"a": object()}, {"a": float("nan")}, {"a": b"bytes"}])
async def test_data_that_json_cannot_carry_is_refused(stores: Stores, data: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="JSON"):
        await stores.jobs.insert(a_job(), [Row(kind=RowKind.INPUT, key="k", data=data)])


@pytest.mark.parametrize("key", ["a/b", "a\nb", "\ud800", "x" * 600])
async def test_a_row_key_that_no_storage_takes_is_refused(stores: Stores, key: str) -> None:
    with pytest.raises(ValueError, match="key of a input row"):
        await stores.jobs.insert(a_job(), [Row(kind=RowKind.INPUT, key=key)])


async def test_a_deleted_row_is_gone_and_the_others_stay(stores: Stores) -> None:
    row, other = Row(kind=RowKind.INPUT, key="a", content=b"x"), Row(kind=RowKind.INPUT, key="b")
    await stores.jobs.insert(a_job(), [row, other])
    for _ in range(2):
        await stores.jobs.delete_row("job_a", RowKind.INPUT, "a")
    await stores.jobs.delete_row("job_none", RowKind.INPUT, "a")
    await stores.jobs.delete_row("a/b", RowKind.INPUT, "a")
    assert await stores.jobs.rows("job_a", RowKind.INPUT) == [other]
    assert await stores.jobs.load("job_a") is not None


FIRST = Row(kind=RowKind.OUTBOX, key="k", data={"a": 1}, content=b"first")
SECOND = Row(kind=RowKind.OUTBOX, key="k", data={"b": 2})


async def _version(stores: Stores, key: str = "k") -> str:
    """Of the row, as it is read alone and among others."""
    row = await stores.jobs.row("job_a", RowKind.OUTBOX, key)
    assert row is not None
    assert row.version
    among = {each.key: each.version for each in await stores.jobs.rows("job_a", RowKind.OUTBOX)}
    assert among[key] == row.version
    return row.version


async def test_a_row_is_replaced_as_long_as_nobody_else_wrote_it(stores: Stores) -> None:
    await stores.jobs.add_row("job_a", FIRST)
    await stores.jobs.add_row("job_a", replace(FIRST, key="other"))
    read = await _version(stores)
    written = await stores.jobs.replace_row("job_a", SECOND, read)
    assert written == await _version(stores)
    assert await stores.jobs.row("job_a", RowKind.OUTBOX, "k") == SECOND
    assert await stores.jobs.replace_row("job_a", replace(SECOND, data={"c": 3}), read) is None
    assert await stores.jobs.row("job_a", RowKind.OUTBOX, "k") == SECOND
    assert written is not None
    assert await stores.jobs.replace_row("job_a", replace(SECOND, data={"c": 3}), written)
    assert await stores.jobs.row("job_a", RowKind.OUTBOX, "other") == replace(FIRST, key="other")


async def test_a_row_written_or_deleted_and_written_anew_is_another(stores: Stores) -> None:
    await stores.jobs.add_row("job_a", FIRST)
    read = await _version(stores)
    await stores.jobs.delete_row("job_a", RowKind.OUTBOX, "k")
    assert await stores.jobs.replace_row("job_a", SECOND, read) is None
    assert await stores.jobs.row("job_a", RowKind.OUTBOX, "k") is None
    await stores.jobs.add_row("job_a", FIRST)
    assert await stores.jobs.replace_row("job_a", SECOND, read) is None
    assert await stores.jobs.row("job_a", RowKind.OUTBOX, "k") == FIRST


async def test_what_a_row_holds_already_counts_as_written(stores: Stores) -> None:
    await stores.jobs.add_row("job_a", FIRST)
    read = await _version(stores)
    written = await stores.jobs.replace_row("job_a", SECOND, read)
    assert await stores.jobs.replace_row("job_a", SECOND, read) == written == await _version(stores)


async def test_of_ten_that_replace_a_row_at_once_one_does(stores: Stores) -> None:
    await stores.jobs.add_row("job_a", FIRST)
    read = await _version(stores)
    rows = [replace(SECOND, data={"by": number}) for number in range(10)]
    written = await asyncio.gather(*(stores.jobs.replace_row("job_a", row, read) for row in rows))
    [winner] = [row for row, version in zip(rows, written, strict=True) if version is not None]
    assert await stores.jobs.row("job_a", RowKind.OUTBOX, "k") == winner


async def test_a_row_that_no_storage_takes_is_refused_there_too(stores: Stores) -> None:
    with pytest.raises(ValueError, match="key"):
        await stores.jobs.replace_row("job_a", replace(FIRST, key="a/b"), "1")
