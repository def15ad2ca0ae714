"""The decoder of strict JSON: what two parsers could read differently is refused.

No duplicate keys, no NaN or Infinity, bounded depth and number length (after RFC 8259 and the stricter RFC
7493).
"""

import json
import math
from typing import Any, NoReturn

DEEPEST = 64
LONGEST_NUMBER = 128


class NotStrict(Exception):
    """The text is JSON, or may be, but not strict. What this says is in our own words."""


class TooDeep(NotStrict):
    """Nested deeper than DEEPEST levels."""

    def __init__(self) -> None:
        super().__init__(f"The body is nested deeper than {DEEPEST} levels.")


def check_depth(document: Any, levels: int = DEEPEST) -> None:
    """Raises TooDeep for a document of more than so many lists and objects in one another."""
    level: list[Any] = [document] if isinstance(document, dict | list) else []
    for _ in range(levels):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    if level:
        raise TooDeep


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise key_twice()
    return found


def key_twice() -> NotStrict:
    return NotStrict("An object in the body has the same key twice.")


def _no_constant(_name: str) -> NoReturn:
    raise NotStrict("The body holds NaN or Infinity, which are not JSON.")


def _bounded_int(text: str) -> int:
    _check_length(text)
    return int(text)


def _bounded_float(text: str) -> float:
    _check_length(text)
    value = float(text)
    if math.isinf(value):
        raise NotStrict("The body holds a number beyond the range of a double.")
    return value


def _check_length(number: str) -> None:
    if len(number) > LONGEST_NUMBER:
        raise NotStrict(f"The body holds a number longer than {LONGEST_NUMBER} characters.")


DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_keys,
    parse_constant=_no_constant,
    parse_int=_bounded_int,
    parse_float=_bounded_float,
)
"""Raises NotStrict, ValueError for what is no JSON, and RecursionError. It leaves depth to `check_depth`."""


def read(body: bytes) -> Any:
    """The JSON value in the body, in UTF-8 without a byte order mark.

    Raises NotStrict, RecursionError, or ValueError for what is no JSON (UnicodeDecodeError: no UTF-8).
    """
    document = DECODER.decode(body.decode("utf-8"))
    check_depth(document)
    return document
