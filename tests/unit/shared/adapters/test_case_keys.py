"""Keys and cursors of the case lists."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.adapters.case_keys import from_cursor, list_key, to_cursor
from shared.ports import CaseFilter, CaseState
from tests.support.records import a_case

_TIMES = st.datetimes(timezones=st.just(UTC))


@given(_TIMES, _TIMES)
def test_later_deaths_sort_first(one: datetime, other: datetime) -> None:
    first, second = list_key(a_case(dead_at=one)), list_key(a_case(dead_at=other))
    assert (first < second) == (one > other)
    assert (first == second) == (one == other)


@given(_TIMES)
def test_a_key_tells_job_and_release_apart(at: datetime) -> None:
    case = a_case(dead_at=at)
    keys = {list_key(case), list_key(replace(case, release=1)), list_key(replace(case, job_id="job_b"))}
    assert len(keys) == 3


@given(st.sampled_from(CaseState), _TIMES)
def test_a_cursor_gives_back_its_key(state: CaseState, at: datetime) -> None:
    key = list_key(a_case(dead_at=at))
    cursor = to_cursor(state, key)
    assert from_cursor(CaseFilter(state=state), cursor) == key
    assert cursor.isascii()
    assert "=" not in cursor


@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_any_other_text_is_refused_and_nothing_else_is_raised(cursor: str) -> None:
    with pytest.raises(ValueError, match="cursor"):
        from_cursor(CaseFilter(), cursor)
