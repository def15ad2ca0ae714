"""From lines to blocks: paragraphs, headings and list items, each on one line.

Text out of a PDF has a line end wherever the page had one. Lines are joined into what they were, unless a new
block begins: after a blank line, at a bullet, or between a short line without an end and a capital.
"""

import re
from collections.abc import Iterator

from shared.ai.marks import CLOSERS, DASHES, ENDS, LINE_HYPHENS

_BULLET = re.compile(rf"[ \t]*(?:[•◦‣▪●○∙·][ \t]*|[*+{re.escape(DASHES)}][ \t]+)")
_NUMBERED = re.compile(r"[ \t]*(?:\(?\d{1,3}[.)]|\(?[a-zA-Z]\))[ \t]+")
_ENDED = tuple(ENDS + CLOSERS + ":;")
_SHORT_SHARE = 0.7
_IDEOGRAPHIC = re.compile("[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")


def split_blocks(text: str) -> list[str]:
    """Return the blocks in order: bullets dropped, white space folded, words broken at line ends whole.

    Otherwise a block is the text's own characters.
    """
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return [block for lines_of in _group(lines) if (block := _join(lines_of))]


def is_ideographic(text: str) -> bool:
    """Whether the text has Chinese or Japanese characters, which are written without spaces."""
    return _IDEOGRAPHIC.search(text) is not None


def _group(lines: list[str]) -> Iterator[list[str]]:
    short = _short_length(lines)
    block: list[str] = []
    in_list = False
    for line in lines:
        if not line:
            yield block
            block, in_list = [], False
            continue
        ended = not block or block[-1].endswith(_ENDED)
        marker = _BULLET.match(line) or (_NUMBERED.match(line) if ended or in_list else None)
        if marker and line[marker.end() :]:
            yield block
            block, in_list = [line[marker.end() :]], True
        elif block and not ended and _begins_anew(block[-1], line, short):
            yield block
            block, in_list = [line], False
        else:
            block.append(line)
    yield block


def _short_length(lines: list[str]) -> float:
    """Below this a line was not filled: part of the length that nine in ten lines stay under."""
    lengths = sorted(len(line) for line in lines if line)
    return lengths[len(lengths) * 9 // 10] * _SHORT_SHARE if lengths else 0


def _begins_anew(previous: str, line: str, short: float) -> bool:
    return len(previous) < short and line[0].isupper() and previous[-1] not in "," + DASHES


def _join(lines: list[str]) -> str:
    parts: list[str] = []
    for line in lines:
        if parts:
            last = parts[-1]
            if last[-1] in LINE_HYPHENS and last[-2:-1].isalpha() and line[0].islower():
                parts[-1] = last[:-1]
            elif not (is_ideographic(last[-1]) and is_ideographic(line[0])):
                parts.append(" ")
        parts.append(line)
    return "".join(parts).replace("\u00ad", "").strip()
