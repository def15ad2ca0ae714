"""Extractive summaries: the sentences of a text that say most of what it says, without saying it twice.

Sentences are vectors of TF-IDF weights (a word counts by how often it is used and in how few sentences). One
scores by its likeness to the sum of all, and a little by its place and form. Maximal marginal relevance
(Carbonell and Goldstein, SIGIR 1998) then picks one after the other, taking off what repeats a pick or comes
from its paragraph.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from shared.ai.sentences import Sentence, split_sentences
from shared.ai.words import content_words, words_of

Vector = dict[str, float]

_POSITION_WEIGHT = 0.15
_EARLY_SHARE = 0.15
_FIRST_IN_BLOCK = 0.1
_LEANING_FACTOR = 0.75
_RELEVANCE = 0.6
_SAME_BLOCK = 0.5
_TOO_ALIKE = 0.6
_CANDIDATES = 200
_FULL_LENGTH = 10
_LONG = 40
_MIN_WORDS = 4
_LEANING = "it this these those they them he she none both such but and or so then there here however"
_LEANING_STARTS = frozenset(_LEANING.split())
"""First words of sentences that mean little without the one before."""


@dataclass(frozen=True, slots=True)
class _Scored:
    index: int
    text: str
    block: int
    vector: Vector
    score: float


def choose_sentences(text: str, *, count: int, max_characters: int) -> list[str]:
    """Return 1 to `count` sentences of the text in its order, together within `max_characters`.

    The first pick stays even when it alone is longer. A text without words gives an empty list. The
    same text gives the same sentences, in every process. Time is linear in the text, and then bounded:
    only so many candidates are compared with each other.
    """
    scored = _score(_candidates(split_sentences(text)))
    remaining = sorted(scored, key=lambda sentence: (-sentence.score, sentence.index))[:_CANDIDATES]
    repeated = dict.fromkeys((sentence.index for sentence in remaining), 0.0)
    chosen: list[_Scored] = []
    room = max_characters
    while remaining and len(chosen) < max(1, count):
        pick = max(remaining, key=lambda sentence: _marginal(sentence, repeated[sentence.index]))
        chosen.append(pick)
        room -= len(pick.text) + 1
        remaining = [
            sentence
            for sentence in remaining
            if sentence.text != pick.text
            and len(sentence.text) <= room
            and _dot(pick.vector, sentence.vector) <= _TOO_ALIKE
        ]
        for sentence in remaining:
            repeated[sentence.index] = max(repeated[sentence.index], _likeness(pick, sentence))
    return [sentence.text for sentence in sorted(chosen, key=lambda sentence: sentence.index)]


def _candidates(sentences: Sequence[Sentence]) -> list[tuple[Sentence, list[str]]]:
    """Whole sentences of some length; failing these, whatever has a word (a list of headings, a form)."""
    worded = [(sentence, words) for sentence in sentences if (words := words_of(sentence.text))]
    whole = [(sentence, words) for sentence, words in worded if sentence.ended and len(words) >= _MIN_WORDS]
    return whole or worded


def _score(candidates: Sequence[tuple[Sentence, list[str]]]) -> list[_Scored]:
    vectors = _vectors(content_words([words for _, words in candidates]))
    centre: Vector = {}
    for vector in vectors:
        for word, weight in vector.items():
            centre[word] = centre.get(word, 0.0) + weight
    central = [_dot(vector, centre) for vector in vectors]
    most = max(central, default=0.0) or 1.0
    early = max(1.0, len(candidates) * _EARLY_SHARE)
    return [
        _Scored(
            index,
            sentence.text,
            sentence.block,
            vectors[index],
            central[index] / most * _weight_of_form(words)
            + _POSITION_WEIGHT * max(0.0, 1 - index / early)
            + _FIRST_IN_BLOCK * sentence.first_in_block,
        )
        for index, (sentence, words) in enumerate(candidates)
    ]


def _weight_of_form(words: Sequence[str]) -> float:
    """Less than 1 for a sentence that is short or very long, or that leans on the one before."""
    length = min(1.0, len(words) / _FULL_LENGTH, _LONG / len(words))
    return length * _LEANING_FACTOR if words[0] in _LEANING_STARTS else length


def _vectors(sentences: Sequence[Sequence[str]]) -> list[Vector]:
    spread = Counter(word for words in sentences for word in dict.fromkeys(words))
    return [
        _normalised(
            {
                word: times * math.log(1 + len(sentences) / spread[word])
                for word, times in Counter(words).items()
            }
        )
        for words in sentences
    ]


def _normalised(vector: Vector) -> Vector:
    length = math.sqrt(sum(weight * weight for weight in vector.values()))
    return {word: weight / length for word, weight in vector.items()} if length else {}


def _marginal(sentence: _Scored, repeated: float) -> float:
    return _RELEVANCE * sentence.score - (1 - _RELEVANCE) * repeated


def _likeness(one: _Scored, other: _Scored) -> float:
    return max(_dot(one.vector, other.vector), _SAME_BLOCK if one.block == other.block else 0.0)


def _dot(one: Vector, other: Vector) -> float:
    """Sum over the first vector's words, in its order, so that rounding is the same every time."""
    return sum(weight * other[word] for word, weight in one.items() if word in other)
