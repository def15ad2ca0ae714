import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.documents.markdown import strip_markdown


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("# Title #", "Title"),
        ("Title\n=====\nText", "Title\n\nText"),
        (
            "Some **bold**, *slanted*, __strong__ and ~~struck~~ words.",
            "Some bold, slanted, strong and struck words.",
        ),
        ("Call `run_all()` twice.", "Call run_all() twice."),
        ("A snake_case_name stays.", "A snake_case_name stays."),
        ("2 * 3 * 4 and a ~ b", "2 * 3 * 4 and a ~ b"),
        ('See [the plan](https://example.org/plan_(1).html "t").', "See the plan."),
        ("See [the plan](https://example.org/plan).", "See the plan."),
        ("See [the plan][plan] now.\n\n[plan]: https://example.org", "See the plan now."),
        ("![A quay](quay.png) here", "A quay here"),
        ("[![Badge](b.svg)](https://example.org) text", "Badge text"),
        ("An [unlinked] note [1].", "An [unlinked] note [1]."),
        ("> Quoted\n> words", "Quoted\nwords"),
        ("One<br/>two <!-- unseen --> three", "Onetwo  three"),
        ("Mail <https://example.org> or 3 < 4", "Mail  or 3 < 4"),
        ("Fish &amp; chips &#8211; good", "Fish & chips \u2013 good"),
        (r"Not \*slanted\* at all", "Not *slanted* at all"),
        ("Before\n\n---\n\nAfter", "Before\n\nAfter"),
        ("---\ntitle: secret\n---\nBody", "Body"),
        ("Before\n```python\ncode = 1\n```\nAfter", "Before\n\nAfter"),
        ("Before\n~~~~\n~~~\ncode\n~~~~\nAfter", "Before\n\nAfter"),
        ("Before\n```\nnever closed", "Before"),
        ("| Place | Tons |\n|---|:--:|\n| Quay | 40 |", "Place Tons\n\nQuay 40"),
        ("- one\n- two", "- one\n- two"),
    ],
)
def test_marks_go_and_words_stay(markdown: str, expected: str) -> None:
    assert strip_markdown(markdown) == expected


def test_an_entity_of_thousands_of_digits_is_left_alone() -> None:
    text = "&#" + "9" * 10_000 + ";"
    assert strip_markdown(text) == text


def test_text_without_marks_is_unchanged() -> None:
    text = "The ferry leaves at nine. It returns at noon.\n\nNobody waits for it."
    assert strip_markdown(text) == text


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("ab \n#*_`~[]()<>!-=|\\&;:/\"'1."), max_size=300))
def test_any_mixture_of_marks_is_stripped_without_inventing_letters(text: str) -> None:
    stripped = strip_markdown(text)
    assert stripped.count("a") <= text.count("a")
    assert len(stripped) <= len(text) + 2 * text.count("\n") + 2
