"""Which line of a TOML text a key or value is on: tomllib keeps no positions.

The text must be valid TOML (tomllib has read it), so the scanner only follows structure: tables, arrays
of tables, dotted and quoted keys, inline tables, and arrays over several lines.
"""

import re
import tomllib
from collections.abc import Iterator

Path = tuple[str | int, ...]

_TOKEN = re.compile(
    r"""
      (?P<skip>[ \t\r]+|\#[^\n]*)
    | (?P<newline>\n)
    | (?P<string>\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*')
    | (?P<mark>[\[\]{}=,.])
    | (?P<bare>[^\s\[\]{}=,.\#"']+)
    """,
    re.VERBOSE | re.DOTALL,
)
_VALUE_ENDS = frozenset({"\n", ",", "]", "}"})


def line_of(lines: dict[Path, int], path: Path) -> int | None:
    """The line of `path`, or of the nearest thing around it that stands in the file."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path)


def scan_lines(text: str) -> dict[Path, int]:
    """The line (from 1) of every table, key and array element of a valid TOML text."""
    scanner = _Scanner(text)
    scanner.document()
    return scanner.lines


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    line = 1
    for found in _TOKEN.finditer(text):
        if found.lastgroup != "skip":
            yield found[0], line
        line += found[0].count("\n")


class _Scanner:
    def __init__(self, text: str) -> None:
        self.lines: dict[Path, int] = {}
        self._tokens = [*_tokens(text), ("\n", text.count("\n") + 1)]
        self._at = 0
        self._sizes: dict[Path, int] = {}  # elements so far of each array of tables

    def document(self) -> None:
        table: Path = ()
        while self._at < len(self._tokens):
            if self._peek() == "\n":
                self._take()
            elif self._peek() == "[":
                table = self._header()
            else:
                self._pair(table)

    def _peek(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else "\n"

    def _take(self) -> tuple[str, int]:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _header(self) -> Path:
        _, line = self._take()
        is_array = self._peek() == "["
        if is_array:
            self._take()
        keys = self._keys("]")
        while self._peek() != "\n":
            self._take()
        path: Path = ()
        for key in keys[:-1]:
            path = self._note_newest((*path, key), line)
        path = (*path, keys[-1])
        if is_array:
            self.lines.setdefault(path, line)
            self._sizes[path] = self._sizes.get(path, 0) + 1
        return self._note_newest(path, line)

    def _note_newest(self, path: Path, line: int) -> Path:
        if path in self._sizes:
            path = (*path, self._sizes[path] - 1)
        self.lines.setdefault(path, line)
        return path

    def _pair(self, table: Path) -> None:
        line = self._tokens[self._at][1]
        path = table
        for key in self._keys("="):
            path = (*path, key)
            self.lines.setdefault(path, line)
        self._value(path)

    def _keys(self, end: str) -> list[str]:
        """The parts of a dotted key, up to and with `end`."""
        keys: list[str] = []
        while (part := self._take()[0]) != end:
            if part != ".":
                keys.append(_unquoted(part))
        return keys

    def _value(self, path: Path) -> None:
        match self._peek():
            case "[":
                self._array(path)
            case "{":
                self._inline_table(path)
            case _:
                while self._peek() not in _VALUE_ENDS:
                    self._take()

    def _array(self, path: Path) -> None:
        self._take()
        index = 0
        while self._peek() != "]":
            if self._peek() in {"\n", ","}:
                self._take()
                continue
            self.lines[*path, index] = self._tokens[self._at][1]
            self._value((*path, index))
            index += 1
        self._take()

    def _inline_table(self, path: Path) -> None:
        self._take()
        while self._peek() != "}":
            if self._peek() in {"\n", ","}:
                self._take()
            else:
                self._pair(path)
        self._take()


def _unquoted(part: str) -> str:
    if part[0] in "\"'":
        return str(tomllib.loads(f"key = {part}")["key"])
    return part
