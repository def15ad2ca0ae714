"""The contract of JobStore: the rows beside a job's."""

import asyncio
from dataclasses import replace

import pytest

from shared.ports import Row, RowKind
from shared.records import RecordTooLarge
from tests.contract.stores import Stores
from tests.support.records import a_job


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
