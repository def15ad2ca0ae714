"""Keys of the case lists."""

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from shared.adapters.case_keys import list_key
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
