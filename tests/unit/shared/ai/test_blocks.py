import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.ai.blocks import is_ideographic, split_blocks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One line\nand its end.", ["One line and its end."]),
        ("First.\n\n\nSecond.", ["First.", "Second."]),
        ("The mainte-\nnance plan", ["The maintenance plan"]),
        ("The mainte\u00ad\nnance plan", ["The maintenance plan"]),
        ("From 1990 -\nor so", ["From 1990 - or so"]),
        ("The Anglo-\nSaxon ship", ["The Anglo- Saxon ship"]),
        ("Bring:\n• a rope\n• a lamp\n  with oil", ["Bring:", "a rope", "a lamp with oil"]),
        ("- one\n* two\n+ three", ["one", "two", "three"]),
        ("Steps\n\n1. Open it.\n2) Close it.\n(c) Go.", ["Steps", "Open it.", "Close it.", "Go."]),
        ("It happened on\n12. August at noon", ["It happened on 12. August at noon"]),
        ("-5 degrees\nin winter", ["-5 degrees in winter"]),
        ("灯台は\n光る。", ["灯台は光る。"]),
        ("  much \t white\u00a0 space ", ["much white space"]),
        ("", []),
    ],
)
def test_lines_become_blocks(text: str, expected: list[str]) -> None:
    assert split_blocks(text) == expected


def test_a_short_line_before_a_capital_is_a_heading() -> None:
    first = "Sheet piles corrode fastest in the splash zone where it is wet"
    second = "Twice a day and dry in between as everybody knows at the coast."
    text = f"The north quay\n{first}\n{second}"
    assert split_blocks(text) == ["The north quay", f"{first} {second}"]


def test_ideographs_are_told_from_letters() -> None:
    assert is_ideographic("灯台")
    assert not is_ideographic("Möwe")


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("ab A.-•\n1\u00ad灯"), max_size=200))
def test_blocks_keep_letters_and_their_order(text: str) -> None:
    letters = [character for character in "".join(split_blocks(text)) if character in "A灯"]
    assert letters == [character for character in text if character in "A灯"]
