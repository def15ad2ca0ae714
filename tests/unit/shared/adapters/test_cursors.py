"""Cursors of lists."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.adapters.cursors import from_cursor, to_cursor
from shared.adapters.limits import key_is_valid

_KEYS = st.text("0123456789:_abcdefgh", min_size=1, max_size=80).filter(key_is_valid)


@given(st.sampled_from(["open", "pending"]), _KEYS)
def test_a_cursor_gives_back_its_key(name: str, key: str) -> None:
    cursor = to_cursor(name, key)
    assert from_cursor(name, cursor) == key
    assert cursor.isascii()
    assert "=" not in cursor


def test_another_lists_cursor_is_refused() -> None:
    with pytest.raises(ValueError, match="another list"):
        from_cursor("pending", to_cursor("open", "1:job_a"))


@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_any_other_text_is_refused_and_nothing_else_is_raised(cursor: str) -> None:
    with pytest.raises(ValueError, match="cursor"):
        from_cursor("open", cursor)
