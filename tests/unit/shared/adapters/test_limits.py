"""The storage service's limits."""

from datetime import UTC, datetime

import pytest

from shared.adapters.limits import check_key, check_row, check_transaction, entity_size, key_is_valid
from shared.ports import Row, RowKind
from shared.records import RecordTooLarge


@pytest.mark.parametrize("key", ["a", "it's", "a b", "%", "é", "x" * 512, "\U0001f6a2" * 256])
def test_a_key_that_the_tables_take_is_valid(key: str) -> None:
    assert key_is_valid(key)


@pytest.mark.parametrize(
    "key", ["", "/", "a\\", "a#", "a?", "\t", "\x7f", "\x9f", "\ud800", "x" * 513, "\U0001f6a2" * 257]
)
def test_a_key_that_the_tables_refuse_is_not(key: str) -> None:
    assert not key_is_valid(key)
    with pytest.raises(ValueError, match="the name cannot be a storage key"):
        check_key(key, "the name")


@pytest.mark.parametrize(
    ("full", "over"),
    [
        ("x" * 32768, "x" * 32769),
        ("\U0001f6a2" * 16384, "\U0001f6a2" * 16384 + "x"),
        (b"x" * 65536, b"x" * 65537),
    ],
)
def test_a_full_property_fits_and_one_more_does_not(full: object, over: object) -> None:
    assert entity_size({"a": full}) > 65536
    with pytest.raises(RecordTooLarge, match="`a`"):
        entity_size({"a": over})


def test_a_row_larger_than_the_service_takes_is_refused() -> None:
    entity = {f"column{n}": b"x" * 65536 for n in range(15)}
    assert entity_size(entity) < 1024 * 1024
    with pytest.raises(RecordTooLarge, match="1048576"):
        entity_size({**entity, "last": b"x" * 65536})


def test_a_batch_has_at_most_a_hundred_rows_and_four_megabytes() -> None:
    large = {f"column{n}": b"x" * 60_000 for n in range(15)}
    check_transaction([{"RowKey": str(n)} for n in range(100)])
    check_transaction([{"RowKey": str(n), **large} for n in range(4)])
    with pytest.raises(RecordTooLarge, match="101 rows"):
        check_transaction([{"RowKey": str(n)} for n in range(101)])
    with pytest.raises(RecordTooLarge, match="4194304"):
        check_transaction([{"RowKey": str(n), **large} for n in range(5)])


def test_a_batch_does_not_write_a_row_twice() -> None:
    with pytest.raises(ValueError, match="twice"):
        check_transaction([{"RowKey": "a"}, {"RowKey": "b"}, {"RowKey": "a"}])


def test_small_values_count_little_and_other_types_are_a_mistake() -> None:
    assert entity_size({"a": 1, "b": True, "c": datetime.now(UTC), "d": None, "e": 0.5}) < 1000
    with pytest.raises(TypeError, match="`a` has the type list"):
        entity_size({"a": []})


def test_the_content_of_a_row_has_a_limit_of_its_own() -> None:
    check_row(Row(kind=RowKind.INPUT, key="k", content=b"x" * 49152))
    with pytest.raises(RecordTooLarge, match="belongs in a blob"):
        check_row(Row(kind=RowKind.INPUT, key="k", content=b"x" * 49153))
