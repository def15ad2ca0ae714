"""Markdown to plain text, for reading and not for rendering: one pass over lines, one over characters.

CommonMark's block and inline marks are dropped as far as prose needs it: code blocks, rules, link targets,
raw HTML and front matter go, the words stay. Time is linear in the length of the text.
"""

import html
import re
from collections.abc import Iterable, Iterator

_MAX_LOOK_AHEAD = 2_000
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+|$)")
_QUOTE = re.compile(r"(?: {0,3}> ?)+")
_RULE = re.compile(r" {0,3}(?:[-*_=][ \t]*)+$")
_TABLE_RULE = re.compile(r"[ \t|:-]+$")
_DEFINITION = re.compile(r" {0,3}\[[^\]\n]{1,200}\]:[ \t]*\S")
_TARGET = re.compile(r"\((?:[^()]|\([^()]{0,200}\)){0,1000}+\)|\[[^\[\]]{0,200}\]")
"""Of a link: `(address)`, with one level of parentheses in it, or `[name]`."""
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_BLANK_LINES = re.compile(r"\n{3,}")
_ESCAPABLE = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def strip_markdown(text: str) -> str:
    """Return the words of a Markdown text (`\\n` line ends); headings and table rows stand as paragraphs."""
    lines = _without_code(_without_front_matter(text.split("\n")))
    stripped = _inline("\n".join(out for line in lines for out in _block(line)))
    words = _ENTITY.sub(lambda match: html.unescape(match.group()), stripped)
    return _BLANK_LINES.sub("\n\n", words).strip()


def _without_front_matter(lines: list[str]) -> list[str]:
    if lines and lines[0].rstrip() == "---":
        for index, line in enumerate(lines[1:200], start=1):
            if line.rstrip() in {"---", "..."}:
                return lines[index + 1 :]
    return lines


def _without_code(lines: Iterable[str]) -> Iterator[str]:
    fence = ""
    for line in lines:
        if fence:
            bare = line.strip()
            if bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        elif found := _FENCE.match(line):
            fence = found.group(1)
            yield ""
        else:
            yield line


def _block(line: str) -> tuple[str, ...]:
    if quote := _QUOTE.match(line):
        line = line[quote.end() :]
    if _RULE.match(line) or _DEFINITION.match(line):
        return ("",)
    if heading := _HEADING.match(line):
        return ("", line[heading.end() :].rstrip().rstrip("#").rstrip(), "")
    if line.lstrip().startswith("|"):
        if _TABLE_RULE.match(line):
            return ("",)
        return ("", " ".join(cell.strip() for cell in line.split("|")).strip(), "")
    return (line,)


def _inline(text: str) -> str:
    """Drop inline marks; `out` holds what stays, `open_brackets` where in it a link text may have begun."""
    out: list[str] = []
    open_brackets: list[int] = []
    at = 0
    while at < len(text):
        mark = text[at]
        match mark:
            case "\\" if text[at + 1 : at + 2] in _ESCAPABLE and at + 1 < len(text):
                out.append(text[at + 1])
                at += 2
            case "[":
                open_brackets.append(len(out))
                out.append(mark)
                at += 1
            case "]":
                at = _close_bracket(text, at, out, open_brackets)
            case "<":
                end = _end_of_tag(text, at)
                out.append("" if end > at else mark)
                at = max(end, at + 1)
            case "`" | "*" | "_" | "~":
                at = _emphasis(text, at, out)
            case _:
                out.append(mark)
                at += 1
    return "".join(out)


def _close_bracket(text: str, at: int, out: list[str], open_brackets: list[int]) -> int:
    opened = open_brackets.pop() if open_brackets else None
    target = _TARGET.match(text, at + 1)
    if opened is None or target is None or "\n\n" in target.group():
        out.append("]")
        return at + 1
    out[opened] = ""
    if opened and out[opened - 1] == "!":
        out[opened - 1] = ""
    return target.end()


def _end_of_tag(text: str, at: int) -> int:
    """The index after the tag, comment or autolink that begins here, or `at` when none does."""
    if text.startswith("<!--", at):
        end = text.find("-->", at + 4, at + 4 + _MAX_LOOK_AHEAD)
        return end + 3 if end >= 0 else at
    following = text[at + 1 : at + 2]
    if not (following.isalpha() or following in {"/", "!", "?"}):
        return at
    end = text.find(">", at + 1, at + 1 + _MAX_LOOK_AHEAD)
    return end + 1 if end >= 0 else at


def _emphasis(text: str, at: int, out: list[str]) -> int:
    """Drop a run of marks unless it stands alone (`2 * 3`), is a lone tilde, or `_` within a word."""
    mark, end = text[at], at
    while end < len(text) and text[end] == mark:
        end += 1
    before, after = text[at - 1 : at] if at else "", text[end : end + 1]
    stands_alone = (not before or before.isspace()) and (not after or after.isspace())
    within_word = mark == "_" and before.isalnum() and after.isalnum()
    if mark != "`" and (stands_alone or within_word or (mark == "~" and end - at == 1)):
        out.append(text[at:end])
    return end
