"""What a large JSON text may cost in memory: its values are bounded, its long strings are held once.

The decoder needs the whole text beside the body and the values: a string of the body's size would be there
three times. So long strings without escapes are decoded by themselves, and put into the document afterwards.
"""

import re
import secrets
from collections.abc import Mapping
from typing import Any

from shared.sizes import KIB, MIB
from shared.webhooks.rejections import BodyTooLarge

MOST_VALUES = 1_000_000
"""A value costs up to 250 bytes and about two microseconds, however short it is in the text."""
LARGE = MIB
LONG = 64 * KIB
_SEPARATORS = (b",", b"[", b"{")
_SHORT = 64
_QUOTE = 0x22
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)', re.DOTALL)
_KEY = re.compile(rb"[ \t\r\n]*:")
_NOT_AS_IT_IS = re.compile(rb"[\\\x00-\x1f]")


def check_values(body: bytes) -> None:
    """Raises BodyTooLarge for more than MOST_VALUES values. What is no JSON may pass."""
    if len(body) < MOST_VALUES:
        return
    separators = _separators(body, 0, len(body))
    if separators < MOST_VALUES:
        return
    for number, found in enumerate(_STRING.finditer(body)):
        start, end = found.span()
        if end - start > _SHORT:
            separators -= _separators(body, start, end)
        if number > 2 * MOST_VALUES:
            break
    if separators >= MOST_VALUES:
        raise BodyTooLarge(f"The body holds more than {MOST_VALUES:,} values.")


def take_out(body: bytes) -> tuple[bytes, Mapping[str, str]]:
    """The text with marks in the places of long strings that are values, and the strings by their marks.

    Raises UnicodeDecodeError for a string that is not UTF-8.
    """
    if len(body) < LARGE or not _has_long_stretch(body):
        return body, {}
    nonce, taken, kept, done = secrets.token_hex(16), dict[str, str](), list[bytes](), 0
    for found in _STRING.finditer(body):
        start, end = found.span()
        if end - start <= LONG or _KEY.match(body, end) or not _stands_for_itself(body, start, end):
            continue
        mark = f"{nonce} {len(taken)}"
        taken[mark] = str(memoryview(body)[start + 1 : end - 1], "utf-8")
        kept += [body[done:start], f'"{mark}"'.encode()]
        done = end
    return b"".join([*kept, body[done:]]) if taken else body, taken


def put_back(document: Any, taken: Mapping[str, str]) -> Any:
    """The document with the strings in the places of their marks; it is changed itself."""
    if not taken:
        return document
    if isinstance(document, str):
        return taken.get(document, document)
    nodes = [document] if isinstance(document, dict | list) else []
    while nodes:
        node = nodes.pop()
        for place, value in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(value, str):
                if value in taken:
                    node[place] = taken[value]
            elif isinstance(value, dict | list):
                nodes.append(value)
    return document


def _separators(body: bytes, start: int, end: int) -> int:
    return sum(body.count(separator, start, end) for separator in _SEPARATORS)


def _has_long_stretch(body: bytes) -> bool:
    """Whether somewhere no quotation mark is for LONG bytes: there is no long string without one."""
    place = 0
    while place + LONG <= len(body):
        last = body.rfind(b'"', place, place + LONG)
        if last < 0:
            return True
        place = last + 1
    return False


def _stands_for_itself(body: bytes, start: int, end: int) -> bool:
    """Whether the string has its end, and no escape nor what would have to be one."""
    return body[end - 1] == _QUOTE and not _NOT_AS_IT_IS.search(body, start, end)
