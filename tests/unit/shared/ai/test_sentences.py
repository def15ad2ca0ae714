import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.ai.sentences import MAX_SENTENCE_CHARACTERS, split_sentences


def texts(text: str) -> list[str]:
    return [sentence.text for sentence in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One ends. Two ends! Three? Four", ["One ends.", "Two ends!", "Three?", "Four"]),
        ("It costs 3.4 mm of 12.5 mm. Then it rusts.", ["It costs 3.4 mm of 12.5 mm.", "Then it rusts."]),
        ("Dr. Alma Reyes met Mr. Fenn. They spoke.", ["Dr. Alma Reyes met Mr. Fenn.", "They spoke."]),
        ("Use ropes, e.g. Hemp ones. Dry them.", ["Use ropes, e.g. Hemp ones.", "Dry them."]),
        ("It takes approx. 3 days. Wait.", ["It takes approx. 3 days.", "Wait."]),
        ("Ropes, lamps, etc. The rest waits.", ["Ropes, lamps, etc.", "The rest waits."]),
        ("Ropes, lamps etc. Fenn knows.", ["Ropes, lamps etc. Fenn knows."]),
        ("J. A. Smith sailed. He won.", ["J. A. Smith sailed.", "He won."]),
        ("She left the U.S. The ship stayed.", ["She left the U.S.", "The ship stayed."]),
        ("The U.S. Navy came.", ["The U.S. Navy came."]),
        ("Am 3. Mai ist Fest. Alle kommen.", ["Am 3. Mai ist Fest.", "Alle kommen."]),
        ("It was 2024. Nobody knew.", ["It was 2024.", "Nobody knew."]),
        ("See fig. 3 for it. Then stop.", ["See fig. 3 for it.", "Then stop."]),
        ("He said: \u201cGo.\u201d Then he went.", ["He said: \u201cGo.\u201d", "Then he went."]),
        ("Wait... what is it? Ah… Nothing.", ["Wait... what is it?", "Ah…", "Nothing."]),
        ("Open main.py. Then run it.", ["Open main.py.", "Then run it."]),
        ("¿Dónde está? ¡Aquí! Bien.", ["¿Dónde está?", "¡Aquí!", "Bien."]),
        (
            "灯台は光る。船が来る\uff01本当\uff1fはい",
            ["灯台は光る。", "船が来る\uff01", "本当\uff1f", "はい"],
        ),
        (
            "A sentence broken\nover two lines. And one\nmore.",
            ["A sentence broken over two lines.", "And one more."],
        ),
        ("- First point. With more.\n- Second point", ["First point.", "With more.", "Second point"]),
        ("Yahoo! said so.", ["Yahoo! said so."]),
        ("", []),
    ],
)
def test_text_is_split_where_sentences_end(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_a_sentence_knows_its_block_and_whether_it_ended() -> None:
    found = split_sentences("Heading\n\nOne. Two.")
    assert [(s.text, s.block, s.first_in_block, s.ended) for s in found] == [
        ("Heading", 0, True, False),
        ("One.", 1, True, True),
        ("Two.", 1, False, True),
    ]


@pytest.mark.parametrize("text", ["word " * 1_000, "a" * 5_000], ids=["words", "one word"])
def test_what_never_ends_is_cut_between_words_where_there_are_any(text: str) -> None:
    pieces = texts(text)
    assert all(len(piece) <= MAX_SENTENCE_CHARACTERS for piece in pieces)
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")
    if " " in text:
        assert {word for piece in pieces for word in piece.split()} == {"word"}


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_split_and_no_sentence_is_empty(text: str) -> None:
    assert all(sentence.strip() == sentence != "" for sentence in texts(text))


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["Dr.", "e.g.", "3.4", "Ship", "ship.", "No.", "!", "“Go.”", "灯台。", "\n", "-"])
    )
)
def test_splitting_loses_nothing_but_white_space_and_bullets(words: list[str]) -> None:
    text = " ".join(words)
    kept = "".join("".join(texts(text)).split()).replace("-", "")
    assert kept == "".join(text.split()).replace("-", "")
