"""Text as read from a file, made safe to store and split: no control characters, one kind of line end."""

import re
from collections import Counter
from collections.abc import Sequence

_LINE_ENDS = re.compile("\r\n|[\r\f\v\x85\u2028\u2029]")
_UNWANTED = {code: " " for code in (*range(9), *range(14, 32), *range(127, 160)) if code != 0x85}
_UNWANTED |= {0xFEFF: "", 0x200B: "", 0x2060: ""}
_LIGATURES = {
    0xFB00: "ff",
    0xFB01: "fi",
    0xFB02: "fl",
    0xFB03: "ffi",
    0xFB04: "ffl",
    0xFB05: "st",
    0xFB06: "st",
}
_DIGITS = re.compile(r"\d+")
_EDGE_LINES = 2
_PAGE_LETTERS = 12
"""As many as `Page # of #` has in any language."""
_MIN_PAGES = 2


def clean_text(text: str) -> str:
    """Return the text with `\\n` line ends, without control characters and lone surrogates."""
    encodable = text.encode("utf-8", "ignore").decode("utf-8")
    return _LINE_ENDS.sub("\n", encodable).translate(_UNWANTED)


def join_pages(pages: Sequence[str]) -> str:
    """Return the pages as one text, without the running heads and page numbers they repeat.

    A line at the top or bottom of a page is a running head when it does not end a sentence and, digits aside,
    stands there on more than half of the pages and on two at least. Its first occurrence stays, since it may
    be more; a page number goes everywhere, so that sentences run on over the page break.
    """
    lines = [[line.strip() for line in clean_text(page).translate(_LIGATURES).split("\n")] for page in pages]
    lines = [_without_blank_ends(page) for page in lines]
    counts = Counter(mark for page in lines for mark in {_mark(page[at]) for at in _edges(page)})
    repeated = {mark for mark, count in counts.items() if count >= _MIN_PAGES and count * 2 > len(pages)}
    unwanted = {mark for mark in repeated if _is_page_number(mark)}
    kept: list[str] = []
    for page in lines:
        edges = _edges(page)
        kept.extend(line for at, line in enumerate(page) if at not in edges or _mark(line) not in unwanted)
        unwanted |= repeated & {_mark(page[at]) for at in edges}
    return "\n".join(kept).strip()


def _without_blank_ends(page: list[str]) -> list[str]:
    first, last = 0, len(page)
    while first < last and not page[first]:
        first += 1
    while last > first and not page[last - 1]:
        last -= 1
    return page[first:last]


def _edges(page: list[str]) -> set[int]:
    """Indexes of the lines that may be running heads; none on a short page, which is all edge."""
    if len(page) <= 2 * _EDGE_LINES:
        return set()
    edges = (*range(_EDGE_LINES), *range(len(page) - _EDGE_LINES, len(page)))
    return {at for at in edges if page[at] and not page[at].endswith((".", "!", "?"))}


def _mark(line: str) -> str:
    return _DIGITS.sub("#", line)


def _is_page_number(mark: str) -> bool:
    return "#" in mark and sum(character.isalpha() for character in mark) <= _PAGE_LETTERS
