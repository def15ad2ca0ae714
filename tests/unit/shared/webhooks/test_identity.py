"""Texts from events, made fit to store and show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.webhooks.identity import LONGEST_LABEL, all_but, body_id, event_label

ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=300)


@given(ANY_TEXT)
def test_a_label_is_one_short_printable_line(text: str) -> None:
    label = event_label(text)
    assert len(label) <= LONGEST_LABEL
    assert len(label.splitlines()) <= 1
    label.encode()


@pytest.mark.parametrize(
    ("text", "label"), [("a.b", "a.b"), ("a\r\nb\x1b[0m", "a??b?[0m"), ("\u202ea", "?a")]
)
def test_control_and_direction_characters_become_question_marks(text: str, label: str) -> None:
    assert event_label(text) == label


def test_the_body_is_an_identity_of_its_own() -> None:
    assert body_id(b"a") == body_id(b"a") != body_id(b"a ")
    assert len(body_id(b"a")) == len("sha256-") + 64


FIELDS = {"id": "evt_1", "data": {"n": [1, 2.5, None]}, "left": 3, "text": "Zoë \ud800"}


@given(st.permutations(list(FIELDS)), st.integers())
def test_fields_are_told_apart_whatever_their_order_and_those_left_out(order: list[str], left: int) -> None:
    told = b"".join(all_but(FIELDS, "left", "missing"))
    assert told == b"".join(all_but({name: FIELDS[name] for name in order} | {"left": left}, "left"))


@given(st.sampled_from(["id", "data", "text"]))
def test_another_value_or_no_value_is_told_from_it(name: str) -> None:
    told = b"".join(all_but(FIELDS, "left"))
    assert told != b"".join(all_but(FIELDS | {name: "another"}, "left"))
    assert told != b"".join(all_but(FIELDS, "left", name))
