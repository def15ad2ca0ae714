from shared.ai.sentences import split_sentences
from shared.ai.words import content_words, words_of
from tests.unit.shared.ai.samples import BEES, GERMAN


def contents(text: str) -> list[list[str]]:
    return content_words([words_of(sentence.text) for sentence in split_sentences(text)])


def test_words_are_folded_and_numbers_are_none() -> None:
    assert words_of("The Keeper\u2019s 48 hives, MÖWE") == ["the", "keeper's", "hives", "möwe"]


def test_ideographs_are_compared_by_pairs() -> None:
    assert words_of("灯台は 光") == ["灯台", "台は", "光"]


def test_english_function_words_say_nothing() -> None:
    words = {word for sentence in contents(BEES) for word in sentence}
    assert {"honey", "hive", "roof"} <= words
    assert words.isdisjoint({"the", "and", "because", "hives", "roofs"})


def test_in_another_language_the_words_of_most_sentences_say_nothing() -> None:
    words = {word for sentence in contents(GERMAN) for word in sentence}
    assert {"wasserrad", "mahlsteine", "brot"} <= words
    assert words.isdisjoint({"die", "das", "am", "wird"})


def test_a_short_text_keeps_its_words() -> None:
    assert contents("Möwen fliegen. Möwen schreien.") == [["möwen", "fliegen"], ["möwen", "schreien"]]
