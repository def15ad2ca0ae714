"""Words as units of comparison: folded, in any script, and which of them say nothing about the subject."""

import re
from collections import Counter
from collections.abc import Sequence

from shared.ai.blocks import is_ideographic
from shared.ai.marks import APOSTROPHE

_ENGLISH = """
a about above after again against all also although am an and any are as at be because been before being
below between both but by can cannot could did do does doing down during each either else even ever every
few for from further had has have having he hence her here hers herself him himself his how however i if
in into is it its itself just least less let like made make many may me might more most much must my
myself neither never no nor not now of off often on once one only or other our ours ourselves out over own
per perhaps rather same shall she should since so some still such than that the their theirs them
themselves then there therefore these they this those though through thus to too toward towards under
until up upon us very was we were what when where whether which while who whom whose why will with within
without would yet you your yours yourself yourselves
"""
ENGLISH_STOP_WORDS = frozenset(_ENGLISH.split())
"""Function words of English."""

_WORD = re.compile(rf"[^\W\d_]+(?:['{APOSTROPHE}][^\W\d_]+)*")
_ENGLISH_SHARE = 0.2
_MOST = 0.6
_MANY = 0.15
_SHORT_FUNCTION_WORD = 4
_MIN_SENTENCES = 6
_SHORT_WORD = 2
_STEM_LENGTH = 4


def words_of(text: str) -> list[str]:
    """Return the text's words, folded; a run of ideographs, which has no spaces, as its overlapping pairs."""
    words: list[str] = []
    for match in _WORD.finditer(text):
        word = match.group().casefold().replace(APOSTROPHE, "'")
        if is_ideographic(word):
            words.extend(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        else:
            words.append(word)
    return words


def content_words(sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return each sentence's words without stop words, and without the plural `s`.

    English is known by its function words, of which running text has far more than the share asked for. In
    another language the words found in a large part of the sentences count as such, very short ones always.
    """
    total = sum(len(words) for words in sentences)
    english = sum(word in ENGLISH_STOP_WORDS for words in sentences for word in words)
    stop = ENGLISH_STOP_WORDS if english >= total * _ENGLISH_SHARE else _frequent_words(sentences)
    return [
        [_stem(word) for word in words if _says_something(word) and word not in stop] for words in sentences
    ]


def _frequent_words(sentences: Sequence[Sequence[str]]) -> frozenset[str]:
    """Words of most sentences, and short words of many: in most scripts function words are short."""
    if len(sentences) < _MIN_SENTENCES:
        return frozenset()
    counts = Counter(word for words in sentences for word in set(words))
    return frozenset(
        word
        for word, count in counts.items()
        if count >= len(sentences) * (_MANY if _is_short(word) else _MOST)
    )


def _is_short(word: str) -> bool:
    return len(word) <= _SHORT_FUNCTION_WORD and not is_ideographic(word)


def _says_something(word: str) -> bool:
    return len(word) > _SHORT_WORD or is_ideographic(word)


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    return word[:-1] if len(word) > _STEM_LENGTH and word.endswith("s") and not word.endswith("ss") else word
