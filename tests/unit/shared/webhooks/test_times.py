"""Event times: what is read, and that the rest is no time instead of an error."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.webhooks.times import iso_time, unix_time

AT = datetime(2026, 7, 27, 10, 14, 55, tzinfo=UTC)
ANYTHING = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=[]))
    | st.lists(st.none())
)


@pytest.mark.parametrize("value", [1785147295, 1785147295.0, "1785147295"])
def test_seconds_since_1970_are_read(value: object) -> None:
    assert unix_time(value) == AT


@pytest.mark.parametrize(
    "value",
    [None, True, "", "x", "1.5", "-1", "+1", " 1", "٣", "1" * 12, 10**15, float("nan"), -(10**12), []],
)
def test_other_numbers_are_no_time(value: object) -> None:
    assert unix_time(value) is None


@pytest.mark.parametrize(
    "value", ["2026-07-27T10:14:55Z", "2026-07-27T12:14:55+02:00", "2026-07-27 10:14:55.000000+00:00"]
)
def test_iso_8601_with_an_offset_is_read(value: str) -> None:
    assert iso_time(value) == AT


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        "",
        "yesterday",
        "2026-07-27",
        "2026-07-27T10:14:55",
        "0001-01-01T00:00:00+23:59",
        "\ud800",
        [],
    ],
)
def test_other_texts_are_no_time(value: object) -> None:
    assert iso_time(value) is None


@given(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-9, minutes=-30))])))
def test_what_is_written_is_read_back(at: datetime) -> None:
    found = iso_time(at.isoformat())
    assert found is None or found == at
    assert at.year in {1, 9999} or found == at


@pytest.mark.fuzz
@given(ANYTHING)
def test_anything_at_all_is_a_time_or_none(value: object) -> None:
    for found in (unix_time(value), iso_time(value)):
        assert found is None or found.tzinfo is UTC
