"""Texts from outside, made fit to store and show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.printable import clean_text, is_blank, one_line

ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=300)


@given(ANY_TEXT)
def test_cleaned_text_can_be_encoded_and_stays_the_same_when_it_could_before(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode()
    try:
        text.encode()
    except UnicodeEncodeError:
        assert "\ufffd" in cleaned or len(cleaned) < len(text)
    else:
        assert cleaned == text


def test_a_split_pair_of_surrogates_is_joined() -> None:
    assert clean_text("\ud83d\ude00 \ud83d") == "\U0001f600 \ufffd"


@given(ANY_TEXT)
def test_one_line_is_one_line_that_can_be_encoded(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    line.encode()


@pytest.mark.parametrize("text", ["", " ", "\u200b", "\x00\t\x1b", "\u2028\u2029\u00a0", "\ud800"])
def test_what_cannot_be_seen_is_blank(text: str) -> None:
    assert is_blank(text)
    assert not is_blank(text + "a")
