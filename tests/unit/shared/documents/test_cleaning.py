import json

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.documents.cleaning import clean_text, join_pages

BODY = ["The first line of this page.", "Another line of it.", "A third line of it.", "Its last line."]


def page(number: int) -> str:
    return "\n".join(
        ["Annual report", f"Page {number} of 3", *(f"{line[:-1]} {'abc'[number]}." for line in BODY)]
    )


def test_running_heads_and_page_numbers_are_dropped() -> None:
    joined = join_pages([page(0), page(1), page(2)])
    assert joined.startswith("Annual report")
    assert joined.count("Annual report") == 1
    assert "Page" not in joined
    assert joined.count("Its last line") == 3


def test_a_sentence_runs_on_over_the_page_break() -> None:
    pages = [
        "Page 1\nOne line here.\nTwo lines here.\nThree lines here.\nThe crane may lift",
        "Page 2\nno more than a boat.\nFour lines here.\nFive lines here.\nSix lines here.",
    ]
    assert "The crane may lift\nno more than a boat." in join_pages(pages)


def test_what_repeats_within_short_pages_is_what_they_say() -> None:
    assert join_pages(["Step 1", "Step 2", "Step 3"]) == "Step 1\nStep 2\nStep 3"


def test_nothing_is_lost_of_a_page_that_comes_twice() -> None:
    page = "Form for berth\nName of the boat\nLength\nDraught\nSigned\nDate"
    assert join_pages([page, page]).startswith(page)


def test_a_sentence_at_the_top_of_pages_is_no_running_head() -> None:
    pages = ["\n".join(["It rains.", *(f"{word}{n}" for n in "xyz" for word in "ab")]) for word in "cd"]
    assert join_pages(pages).count("It rains.") == 2


def test_a_line_repeated_in_the_middle_of_pages_stays() -> None:
    pages = [
        "\n".join([f"a{n}", f"b{n * 'x'}", "Signed by hand", f"c{n * 'y'}", f"d{n * 'z'}"]) for n in (1, 2, 3)
    ]
    assert join_pages(pages).count("Signed by hand") == 3


def test_ligatures_become_letters() -> None:
    assert join_pages(["The \ufb01nal o\ufb03ce"]) == "The final office"


def test_control_characters_and_lone_surrogates_go_and_line_ends_become_one_kind() -> None:
    assert clean_text("a\x00b\r\nc\rd\x0ce\ud800f\ufeffg\u2028h\ti") == "a b\nc\nd\ne" + "fg\nh\ti"


@settings(deadline=None)
@given(st.text(alphabet=st.characters(), max_size=200))
def test_cleaned_text_can_always_be_stored(text: str) -> None:
    cleaned = clean_text(text)
    assert json.loads(json.dumps(cleaned, ensure_ascii=False).encode("utf-8")) == cleaned
    assert all(
        character in "\n\t" or not (ord(character) < 32 or 127 <= ord(character) < 160)
        for character in cleaned
    )


@settings(deadline=None)
@given(st.lists(st.text(max_size=60), max_size=6))
def test_pages_of_any_text_are_joined(pages: list[str]) -> None:
    joined = join_pages(pages)
    assert set(joined.split()) <= set(" ".join(join_pages([page]) for page in pages).split())
