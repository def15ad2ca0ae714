import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.ai.extractive import choose_sentences
from shared.ai.sentences import split_sentences
from tests.unit.shared.ai.samples import BEES, GERMAN, JAPANESE, RAILWAY

ROOT = Path(__file__).parents[4]


def squash(text: str) -> str:
    """Without what joining lines may drop: white space, hyphens, bullets."""
    return "".join(
        character for character in text if not (character.isspace() or character in "-\u2010\u00ad")
    )


def choose(text: str, count: int = 4, max_characters: int = 1_200) -> list[str]:
    return choose_sentences(text, count=count, max_characters=max_characters)


@pytest.mark.parametrize("text", [BEES, RAILWAY, GERMAN, JAPANESE])
def test_sentences_are_the_documents_own_in_its_order(text: str) -> None:
    chosen = choose(text)
    places = [squash(text).index(squash(sentence)) for sentence in chosen]
    assert len(chosen) == 4
    assert places == sorted(places)


def test_a_summary_covers_the_parts_of_a_document() -> None:
    bees, railway = " ".join(choose(BEES)), " ".join(choose(RAILWAY))
    assert "roof" in bees
    assert "wind" in bees
    assert "swarms" in bees
    assert "sleeping car" in railway
    assert "A bed must cost less" in railway


def test_different_documents_have_different_summaries() -> None:
    assert set(choose(BEES)).isdisjoint(choose(RAILWAY))


def test_a_summary_follows_the_document_when_its_subject_changes() -> None:
    changed = BEES.replace("wind", "frost").replace("swarms in May", "wasps in August")
    assert "frost" in " ".join(choose(changed))
    assert "wasps" in " ".join(choose(changed))


def test_headings_and_asides_are_not_chosen() -> None:
    chosen = choose(BEES, count=5)
    assert not any(sentence.startswith("Keeping bees") for sentence in chosen)
    assert "It surprised nobody." not in chosen
    assert "Nobody likes that." not in chosen


def test_nothing_is_said_twice() -> None:
    repeated = f"{BEES}\n\n{BEES}\n\n{BEES}"
    chosen = choose(repeated, count=5)
    assert len(set(chosen)) == len(chosen) == 5


def test_a_near_repetition_gives_way_to_something_else() -> None:
    text = (
        "The harbour crane lifts fishing boats out of the water every spring. "
        "The harbour crane lifts fishing boats out of the water every autumn. "
        "Sand drifts into the entrance channel and has to be dredged by the town."
    )
    chosen = choose(text, count=2)
    assert "crane" in chosen[0]
    assert "Sand" in chosen[1]


def test_a_summary_stays_within_its_characters() -> None:
    chosen = choose(BEES, count=10, max_characters=300)
    assert len(chosen) > 1
    assert len(" ".join(chosen)) <= 300


def test_one_sentence_stays_however_little_room_there_is() -> None:
    assert len(choose(BEES, count=3, max_characters=1)) == 1


def test_headings_are_used_when_there_is_nothing_else() -> None:
    assert choose("Ropes\n\nLamps and oil\n\nBoats", count=3) == ["Ropes", "Lamps and oil", "Boats"]


def test_a_text_without_words_has_no_sentences() -> None:
    assert choose("12. 34! ... --") == []


@pytest.mark.parametrize("seed", ["1", "2"])
def test_every_process_chooses_the_same(seed: str) -> None:
    code = (
        "from tests.unit.shared.ai.samples import BEES, GERMAN\n"
        "from shared.ai.extractive import choose_sentences\n"
        "print([choose_sentences(text, count=4, max_characters=1200) for text in (BEES, GERMAN)])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
    )
    assert ended.stdout.strip() == repr([choose(BEES), choose(GERMAN)])


@settings(deadline=None)
@given(st.text(max_size=400), st.integers(-1, 8), st.integers(0, 500))
def test_any_text_gives_sentences_of_its_own(text: str, count: int, max_characters: int) -> None:
    chosen = choose(text, count, max_characters)
    own = {sentence.text for sentence in split_sentences(text)}
    assert set(chosen) <= own
    assert len(chosen) <= max(1, count)
    assert chosen == choose(text, count, max_characters)


WORDS = st.sampled_from(
    ["harbour", "crane", "the", "of", "Sand", "3.4", "Dr.", "boat.", "quay!", "灯台。", "\n", "\n\n", "- "]
)


@settings(deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=120), st.integers(1, 6))
def test_what_is_chosen_stands_in_the_text(words: list[str], count: int) -> None:
    text = " ".join(words)
    chosen = choose(text, count)
    assert all(squash(sentence) in squash(text) for sentence in chosen)
    assert chosen or not any(character.isalpha() for character in text)
