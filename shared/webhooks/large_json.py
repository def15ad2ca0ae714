"""Large JSON texts, read piece by piece: what is long in them stays undecoded until somebody looks into it.

Decoded, a text of many short values takes ten times its size and more. So a document holds a LongList, a
LongObject or a LongText in the place of a value whose text is longer than a window: each knows where it is
written, and decodes what is asked of it, again each time. All of the text was checked when it was read first.
"""

from collections.abc import Iterator, KeysView
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from shared.sizes import MIB
from shared.webhooks.json_window import WINDOW, LongerThanWindow, Window
from shared.webhooks.long_texts import LongText, end_of_string
from shared.webhooks.rejections import BodyTooLarge
from shared.webhooks.strict_json import DEEPEST, TooDeep, check_depth, key_twice

MOST_NAMES = 100_000
MOST_NAME_CHARACTERS = 2 * MIB
"""Of an object that is longer than a window, and those around it: they are held, each in some 200 bytes."""


@dataclass(frozen=True, slots=True)
class Written:
    """Where a list or an object stands in a JSON text: `body[start:stop]`."""

    body: bytes = field(repr=False)
    start: int
    stop: int

    def json(self) -> memoryview:
        return memoryview(self.body)[self.start : self.stop]

    def in_full(self) -> Any:
        """Decoded, in one pass whatever is in it."""
        return _read(Window(self.body, self.start, in_full=True), 0)


class LongList(list[Any]):
    """A list that is read anew each time. Read-only.

    Code in C that looks past its methods finds one Written, which is no JSON, and not an empty list. Methods
    that would find only that are none.
    """

    __slots__ = ("_count", "_written")

    def __init__(self, written: Written, count: int) -> None:
        super().__init__([written])
        self._written, self._count = written, count

    def json(self) -> memoryview:
        return self._written.json()

    def in_full(self) -> Any:
        return self._written.in_full()

    def __iter__(self) -> Iterator[Any]:
        return _elements(Window(self._written.body, self._written.start), 0)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._part(range(self._count)[index])
        place = range(self._count)[index]
        return next(islice(self, place, None))

    def _part(self, places: range) -> list[Any]:
        """In one pass, whatever the order."""
        forwards = places if places.step > 0 else places[::-1]
        found = list(islice(self, forwards.start, max(forwards.start, forwards.stop), forwards.step))
        return found if places.step > 0 else found[::-1]

    def __contains__(self, value: object) -> bool:
        return any(value == element for element in self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list) or len(other) != self._count:
            return False
        return all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None
    __add__ = __mul__ = __rmul__ = __reversed__ = copy = count = index = pop = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<a list of {self._count}>"


class LongObject(dict[str, Any]):
    """An object whose values are read anew each time. Read-only; in C it holds what a LongList does."""

    __slots__ = ("_places", "_written")

    def __init__(self, written: Written, places: dict[str, int]) -> None:
        super().__init__({"": written})
        self._written, self._places = written, places

    def json(self) -> memoryview:
        return self._written.json()

    def in_full(self) -> Any:
        return self._written.in_full()

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __getitem__(self, name: str) -> Any:
        return _read(Window(self._written.body, self._places[name]), 0)

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self._places else default

    def keys(self) -> KeysView[str]:  # type: ignore[override]  # the class of dict.keys() has no public name
        return self._places.keys()

    def values(self) -> Iterator[Any]:  # type: ignore[override]  # once through is all that it gives
        return (value for _, _, value in _members(Window(self._written.body, self._written.start), 0))

    def items(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]  # likewise
        return (
            (name, value) for name, _, value in _members(Window(self._written.body, self._written.start), 0)
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, dict) or other.keys() != self.keys():
            return False
        return all(value == other[name] for name, value in self.items())

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None
    __reversed__ = pop = popitem = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<an object of {len(self._places)}>"


def read_large(body: bytes) -> Any:
    """The JSON value in the body.

    Raises NotStrict, RecursionError, ValueError for what is no JSON (UnicodeDecodeError: no UTF-8), and
    BodyTooLarge for too many names.
    """
    window = Window(body)
    document = _read(window, 0)
    if window.peek():
        raise _no_json()
    return document


def _read(window: Window, depth: int) -> Any:
    """The next value, in so many lists and objects."""
    first = window.peek()
    try:
        value = window.value()
    except LongerThanWindow:
        return _read_long(window, first, depth)
    if isinstance(value, dict | list):
        check_depth(value, DEEPEST - depth)
    return value


def _read_long(window: Window, first: str, depth: int) -> Any:
    start = window.place()
    if first == '"':
        text = LongText(window.body, start + 1, end_of_string(window.body, start) - 1)
        text.check()
        window.go_to(text.stop + 1)
        return text.in_full() if window.in_full else text
    if first not in ("[", "{"):
        raise _no_json()
    if depth == DEEPEST:
        raise TooDeep
    if window.in_full:
        return _long_in_full(window, first, depth)
    if first == "[":
        count = sum(1 for _ in _elements(window, depth + 1))
        return LongList(Written(window.body, start, window.place()), count)
    places = _places(window, depth + 1)
    return LongObject(Written(window.body, start, window.place()), places)


def _long_in_full(window: Window, first: str, depth: int) -> list[Any] | dict[str, Any]:
    if first == "[":
        return list(_elements(window, depth + 1))
    return {name: value for name, _, value in _members(window, depth + 1)}


def _elements(window: Window, depth: int) -> Iterator[Any]:
    """Of the list that begins at the window's place; it is behind the list then."""
    window.take()
    if window.peek() == "]":
        window.take()
        return
    separator = ","
    while separator == ",":
        if values := window.values():
            check_depth(values, DEEPEST - depth + 1)
            yield from values
        else:
            yield _read(window, depth)
        separator = window.take()
    if separator != "]":
        raise _no_json()


def _members(window: Window, depth: int) -> Iterator[tuple[str, int, Any]]:
    """Of the object that begins at the window's place: name, place of the value, value."""
    window.take()
    if window.peek() == "}":
        window.take()
        return
    separator, apart, pause = ",", 0, 0
    while separator == ",":
        if apart == pause:  # after each attempt in vain more members are read one by one
            apart, pause = 0, 2 * pause + 1
            for name, place, value in window.members():
                pause = 0
                if isinstance(value, dict | list):
                    check_depth(value, DEEPEST - depth)
                yield name, place, value
        else:
            apart += 1
        name = _name(window)
        window.peek()
        place = window.place()
        yield name, place, _read(window, depth)
        separator = window.take()
    if separator != "}":
        raise _no_json()


def _name(window: Window) -> str:
    if window.peek() != '"':
        raise _no_json()
    try:
        name = window.value()
    except LongerThanWindow:
        start = window.place()
        long = end_of_string(window.body, start) - start > WINDOW
        raise _too_many_names() if long else _no_json() from None
    if window.take() != ":" or not isinstance(name, str):
        raise _no_json()
    return name


def _places(window: Window, depth: int) -> dict[str, int]:
    names, characters, places = window.names, window.name_characters, dict[str, int]()
    for name, place, _ in _members(window, depth):
        if name in places:
            raise key_twice()
        places[name] = place
        window.names += 1
        window.name_characters += len(name)
        if window.names > MOST_NAMES or window.name_characters > MOST_NAME_CHARACTERS:
            raise _too_many_names()
    window.names, window.name_characters = names, characters
    return places


def _too_many_names() -> BodyTooLarge:
    return BodyTooLarge(f"An object in the body has more than {MOST_NAMES:,} keys, or too long ones.")


def _no_json() -> ValueError:
    return ValueError("no JSON")
