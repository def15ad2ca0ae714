"""How long a provider asks us to wait."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.calls.retry_after import LONGEST, retry_after

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3),
        ({"retry-after": " 2.5 "}, 2.5),
        ({"retry-after": "0"}, 0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 GMT"}, 30),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0),
        ({"retry-after": "Sun, 01 Mar 2026 13:00:30 +0100"}, 30),
        ({"retry-after": "99999999999"}, LONGEST.total_seconds()),
        ({"retry-after": "Sun, 01 Mar 2027 12:00:30 GMT"}, LONGEST.total_seconds()),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "1e3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "³"}, None),
        ({"retry-after": "9" * 400}, None),
    ],
)
def test_it_is_read_as_seconds_or_as_a_date(headers: dict[str, str], seconds: float | None) -> None:
    expected = None if seconds is None else timedelta(seconds=seconds)
    assert retry_after(headers, NOW) == expected


@given(st.text(max_size=50) | st.from_regex(r"\w{3}, \d+ \w{3} \d+ \d+:\d+:\d+ \S*", fullmatch=True))
def test_any_text_is_a_bounded_wait_or_none(text: str) -> None:
    found = retry_after({"retry-after": text}, NOW)
    assert found is None or timedelta(0) <= found <= LONGEST
