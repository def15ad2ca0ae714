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
_MIN_PAGES = 2


def clean_text(text: str) -> str:
    """Return the text with `\\n` line ends, without control characters and lone surrogates."""
    encodable = text.encode("utf-8", "ignore").decode("utf-8")
    return _LINE_ENDS.sub("\n", encodable).translate(_UNWANTED)


def join_pages(pages: Sequence[str]) -> str:
    """Return the pages as one text, without the running headers, footers and page numbers they repeat.

    A line at the top or bottom of a page is one of those when, digits aside, it stands there on more than
    half of the pages, and on two at least. Sentences then run on over the page break.
    """
    lines = [[line.strip() for line in clean_text(page).translate(_LIGATURES).split("\n")] for page in pages]
    lines = [_without_blank_ends(page) for page in lines]
    counts = Counter(mark for page in lines for mark in {_mark(line) for line in _edges(page)})
    repeated = {mark for mark, count in counts.items() if len(pages) >= _MIN_PAGES and count * 2 > len(pages)}
    return "\n".join("\n".join(_without_repeated(page, repeated)) for page in lines).strip()


def _without_repeated(page: list[str], repeated: set[str]) -> list[str]:
    first, last = 0, len(page)
    if not _edges(page):
        return page
    while first < min(_EDGE_LINES, last) and _mark(page[first]) in repeated:
        first += 1
    while last > max(first, len(page) - _EDGE_LINES) and _mark(page[last - 1]) in repeated:
        last -= 1
    return page[first:last]


def _without_blank_ends(page: list[str]) -> list[str]:
    first, last = 0, len(page)
    while first < last and not page[first]:
        first += 1
    while last > first and not page[last - 1]:
        last -= 1
    return page[first:last]


def _edges(page: list[str]) -> list[str]:
    if len(page) <= 2 * _EDGE_LINES:  # all edge: nothing tells a header from what the page says
        return []
    return page[:_EDGE_LINES] + page[-_EDGE_LINES:]


def _mark(line: str) -> str:
    return _DIGITS.sub("#", line)
