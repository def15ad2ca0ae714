"""A place in a large JSON text, of which only a window is decoded at a time."""

import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from shared.sizes import KIB
from shared.webhooks.strict_json import DECODER

WINDOW = 64 * KIB
"""A value whose text is longer is not decoded as a whole. A list or an object may be left so from half on."""
_FIRST_LOOK = KIB
_SCAN = DECODER.scan_once  # type: ignore[attr-defined]  # what raw_decode calls; typeshed leaves it out
_SPACE = re.compile(r"[ \t\r\n]*")
_NAME = re.compile(r'[ \t\r\n]*"([^"\\\x00-\x1f]*)"[ \t\r\n]*:[ \t\r\n]*')  # with no escape in it
_ENDINGS = {'"': '",', "{": "},", "[": "],"}  # of one of several values that begin so
_MAY_GO_ON = ("", ".", "e", "E")  # a number, behind the window
_STRUCTURE = re.compile(r'[\[{\]}]|"(?:[^"\\]+|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_CONTINUATION = (0x80, 0xC0)  # a UTF-8 byte that begins no character, and the bits that tell it


class LongerThanWindow(Exception):
    """A value goes on beyond a window, or is no JSON."""


class Window:
    """Reads on from `place`, a byte of `body` that begins a character.

    Every method may raise UnicodeDecodeError, `value` what DECODER raises for what is not strict.
    """

    __slots__ = (
        "_at",
        "_bytes_until",
        "_known_at",
        "_open",
        "_stop",
        "_text",
        "_tried",
        "body",
        "in_full",
        "name_characters",
        "names",
    )

    def __init__(self, body: bytes, place: int = 0, *, in_full: bool = False) -> None:
        self.body = body
        self.in_full = in_full  # whether its reader decodes long values too
        self.names = self.name_characters = 0  # that its reader holds
        self._load(place, min(_FIRST_LOOK, WINDOW))

    def _load(self, place: int, size: int) -> None:
        stop = min(place + size, len(self.body))
        bits, mask = _CONTINUATION
        for _ in range(3):
            if stop < len(self.body) and self.body[stop] & mask == bits:
                stop -= 1
        self._text = self.body[place:stop].decode("utf-8")
        self._stop = stop
        self._at = 0
        self._tried = -1  # where the last stretch ends that was tried at one blow
        self._open = deque[int]()  # where the values begin that are known to go on beyond the text
        self._known_at, self._bytes_until = 0, place

    def place(self) -> int:
        """The byte that is read next."""
        if self._at > self._known_at:
            passed = self._text[self._known_at : self._at]
            self._bytes_until += len(passed) if passed.isascii() else len(passed.encode())
            self._known_at = self._at
        return self._bytes_until

    def go_to(self, place: int) -> None:
        self._load(place, WINDOW)

    def peek(self) -> str:
        """The next character that is no white space, "" at the end of the body."""
        while True:
            text, at = self._text, self._at
            if at < len(text) and text[at] > " ":
                return text[at]
            found = _SPACE.match(text, at)
            self._at = found.end() if found else at
            if self._at < len(text):
                return text[self._at]
            if self._stop == len(self.body):
                return ""
            self.go_to(self._stop)

    def take(self) -> str:
        """What `peek` shows; the place is behind it then."""
        found = self.peek()
        self._at += len(found)
        return found

    def value(self) -> Any:
        """The value that begins with what `peek` showed. Raises LongerThanWindow; the place is as before."""
        whole = self._whole_value()
        if whole is None and self._shows_too_little():
            self.go_to(self.place())
            whole = self._whole_value()
        if whole is None:
            if not self._open:
                self._open, self._tried = _unclosed(self._text, self._at), -1
            raise LongerThanWindow
        value, self._at = whole
        return value

    def values(self) -> list[Any]:
        """Those that follow with commas between, as far as they are found at one blow: maybe none.

        Wherever the text is cut: what JSON finds between the brackets of a list is what stands there.
        """
        first = self.peek()
        stop = self._next_open()
        if stop in (self._at, self._tried):
            return []
        self._tried = stop
        ending = _ENDINGS.get(first, ",")
        found = self._text.rfind(ending, self._at, stop)
        if found < 0:
            return []
        comma = found + len(ending) - 1
        try:
            values: list[Any] = DECODER.decode(f"[{self._text[self._at : comma]}]")
        except ValueError:
            return []
        if values:
            self._at = comma
        return values

    def members(self) -> Iterator[tuple[str, int, Any]]:
        """Name, place of the value and value of each that the text shows whole, with the comma behind it.

        It reads on behind that comma. Maybe none: a name with an escape is no such.
        """
        text, stop = self._text, self._next_open()
        while (name := _NAME.match(text, self._at)) and (begin := name.end()) < stop:
            try:
                value, end = _SCAN(text, begin)
            except (StopIteration, ValueError):
                return
            if text[end : end + 1] != ",":
                return
            self._at = begin
            place = self.place()
            self._at = end + 1
            yield name[1], place, value

    def _next_open(self) -> int:
        """Where the next value begins that goes on beyond the text, as far as is known, or the text ends."""
        while self._open and self._open[0] < self._at:
            self._open.popleft()
        return self._open[0] if self._open else len(self._text)

    def _shows_too_little(self) -> bool:
        """Whether a window that begins at the value would tell more of it.

        Of long lists in one another each would else be tried in a window of its own, all over again.
        """
        if self._stop == len(self.body):
            return False
        enough = WINDOW // 2 if self._text[self._at] in "[{" else WINDOW
        return self._stop - self.place() < enough

    def _whole_value(self) -> tuple[Any, int] | None:
        if self._next_open() == self._at < len(self._text):
            return None
        try:
            value, end = DECODER.raw_decode(self._text, self._at)
        except ValueError:
            return None
        number = self._text[end - 1].isdigit()
        cut = number and self._text[end : end + 1] in _MAY_GO_ON and self._stop < len(self.body)
        return None if cut else (value, end)


def _unclosed(text: str, start: int) -> deque[int]:
    """Where the lists and objects begin, from `start` on, that do not end in the text."""
    begun = deque[int]()
    for found in _STRUCTURE.finditer(text, start):
        if found[0] in "[{":
            begun.append(found.start())
        elif found[0] in "]}" and begun:
            begun.pop()
    return begun
