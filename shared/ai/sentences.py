"""Splitting text into sentences, for any language that ends them with a mark."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from shared.ai.blocks import split_blocks
from shared.ai.marks import CLOSERS, ENDS, ENDS_ANYWHERE, OPENERS
from shared.ai.words import ENGLISH_STOP_WORDS

MAX_SENTENCE_CHARACTERS = 600
"""What runs on longer without an end is cut between words."""

_END = re.compile(f"[{re.escape(ENDS)}]+[{re.escape(CLOSERS)}]*")
_LAST_WORD = re.compile(r"[\w.]*$")
_WORD_ROOM = 40
_ORDINAL_DIGITS = 2
_TITLES_AND_REFERENCES = """
mr mrs ms dr prof st sr jr rev gen col capt lt sgt nos vs figs eq ch vol pp ed eds approx cf ca bzw z.b u.a
e.g i.e viz resp jan feb apr jun jul aug sep sept oct nov fr nr abs
"""
_LEADING = frozenset(_TITLES_AND_REFERENCES.split())
"""A name or a number follows, so that no sentence ends there."""
_SHORTENED = "no art fig sec mar dec hr al etc inc ltd co corp bros plc dept est a.m p.m usw"
_TRAILING = frozenset(_SHORTENED.split())
"""May end a sentence; whether one does shows in the word that follows."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and where it stands."""

    text: str
    block: int
    """Index of its paragraph, heading or list item."""
    first_in_block: bool
    ended: bool
    """Whether a mark ends it; headings and fragments have none."""


def split_sentences(text: str) -> list[Sentence]:
    """Return the text's sentences in order, each at most `MAX_SENTENCE_CHARACTERS` long."""
    found: list[Sentence] = []
    for number, block in enumerate(split_blocks(text)):
        first = True
        for sentence in _sentences(block):
            ended = sentence.rstrip(CLOSERS).endswith(tuple(ENDS))
            found.extend(
                Sentence(piece, number, first and index == 0, ended)
                for index, piece in enumerate(_pieces(sentence))
            )
            first = False
    return found


def _sentences(block: str) -> Iterator[str]:
    start = 0
    for mark in _END.finditer(block):
        if _is_boundary(block, mark):
            if sentence := block[start : mark.end()].strip():
                yield sentence
            start = mark.end()
    if rest := block[start:].strip():
        yield rest


def _is_boundary(block: str, mark: re.Match[str]) -> bool:
    if any(character in ENDS_ANYWHERE for character in mark.group()):
        return True
    rest = block[mark.end() : mark.end() + _WORD_ROOM]
    following = rest.lstrip().lstrip(OPENERS)
    if not following:
        return True
    if not rest[0].isspace() or following[0].islower():
        return False
    return mark.group().rstrip(CLOSERS) != "." or _ends_sentence(block, mark.start(), following)


def _ends_sentence(block: str, stop: int, following: str) -> bool:
    """Whether the full stop at `stop` ends a sentence rather than belonging to the word before it."""
    before = _LAST_WORD.search(block, max(0, stop - _WORD_ROOM), stop)
    word = before.group() if before else ""
    lowered = word.casefold()
    if lowered in _LEADING or (word.isdigit() and len(word) == stop):
        return False
    is_ordinal = word.isdigit() and len(word) <= _ORDINAL_DIGITS
    is_initial = len(word) == 1 and word.isupper()
    if lowered in _TRAILING or "." in word or is_ordinal or is_initial:
        return following.split(None, 1)[0].rstrip(",").casefold() in ENGLISH_STOP_WORDS
    return True


def _pieces(sentence: str) -> Iterator[str]:
    start = 0
    while len(sentence) - start > MAX_SENTENCE_CHARACTERS:
        cut = sentence.rfind(" ", start + 1, start + MAX_SENTENCE_CHARACTERS)
        cut = cut if cut > 0 else start + MAX_SENTENCE_CHARACTERS
        yield sentence[start:cut].strip()
        start = cut
    yield sentence[start:].strip()
