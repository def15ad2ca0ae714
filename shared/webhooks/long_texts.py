"""Long strings of a large JSON text: they stay where they are until somebody wants them.

Decoded, a string may take four times the memory of its text: one emoji makes every character four bytes wide.
So a document holds a LongText in such a string's place; what is made of it is made in pieces, as UTF-8.
"""

import codecs
import collections
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from shared.printable import clean_text
from shared.sizes import KIB

_PIECE = 64 * KIB
_ESCAPE = len(r"\ud83d")
_FIRST_HALF = re.compile(rb"\\u[dD][89abAB]")
_SECOND_HALF = re.compile(rb"\\u[dD][c-fC-F]")
_LONGEST_ESCAPE = len(r"\ud83d\ude00")


@dataclass(frozen=True, slots=True, eq=False)
class LongText:
    """A string of the JSON text `body`: what stands between its quotation marks."""

    body: bytes = field(repr=False)
    start: int
    stop: int

    def pieces(self) -> Iterator[str]:
        """The string, decoded. Raises UnicodeDecodeError, or ValueError for what JSON does not allow."""
        decoder, place = codecs.getincrementaldecoder("utf-8")(), self.start
        while place < self.stop:
            end = _cut(self.body, place, self.stop)
            text = decoder.decode(self.body[place:end], end == self.stop)
            yield json.loads(f'"{text}"')
            place = end

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            fits = len(other) <= self.stop - self.start <= _LONGEST_ESCAPE * len(other)
            return fits and self.in_full() == other
        return isinstance(other, LongText) and self.in_full() == other.in_full()

    __hash__ = None  # type: ignore[assignment]  # as of a list: nobody needs it

    def encoded(self) -> "EncodedText":
        return EncodedText(self, sum(len(utf8(piece)) for piece in self.pieces()))

    def in_full(self) -> str:
        return "".join(self.pieces())

    def check(self) -> None:
        """Raises UnicodeDecodeError, or ValueError for what JSON does not allow."""
        collections.deque(self.pieces(), maxlen=0)

    def json(self) -> memoryview:
        return memoryview(self.body)[self.start - 1 : self.stop + 1]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedText:
    """A string of `size` bytes in UTF-8, fit to be stored; made anew, in pieces, each time it is read."""

    text: LongText
    size: int

    def __iter__(self) -> Iterator[bytes]:
        return map(utf8, self.text.pieces())


def end_of_string(body: bytes, start: int) -> int:
    """Where the string ends that begins at `start`, with its quotation marks. Raises ValueError.

    No regular expression: on one long string it would hold up the event loop, though it runs in a thread.
    """
    place = start + 1
    for piece in whole_escapes(body, place):
        end = piece.replace(rb"\\", b"  ").replace(rb"\"", b"  ").find(b'"')
        if end >= 0:
            return place + end + 1
        place += len(piece)
    raise ValueError("a string without an end")


def whole_escapes(body: bytes, start: int = 0) -> Iterator[bytes]:
    """The body from `start` on, in pieces: none ends between a backslash and what it escapes."""
    while start < len(body):
        end = min(start + _PIECE, len(body))
        if end < len(body) and _backslashes(body, start, end) % 2:
            end -= 1
        yield body[start:end]
        start = end


def _backslashes(body: bytes, start: int, stop: int) -> int:
    """How many stand one after the other just before `stop`, none before `start`."""
    run = body[start:stop]
    return len(run) - len(run.rstrip(b"\\"))


def _cut(body: bytes, start: int, stop: int) -> int:
    """Where a piece ends that begins at `start`: no escape is cut, and no pair of them for one character."""
    end = start + _PIECE
    if end >= stop:
        return stop
    last = body.rfind(b"\\", end - _ESCAPE + 1, end)
    if last >= 0 and _backslashes(body, start, last + 1) % 2:
        end = last
    before = end - _ESCAPE
    if (
        _SECOND_HALF.match(body, end)
        and _FIRST_HALF.match(body, before)
        and _backslashes(body, start, before + 1) % 2
    ):
        end = before
    return end


def utf8(text: str) -> bytes:
    """`clean_text(text)` in UTF-8, with no further copy of a text that is clean."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return clean_text(text).encode()
