"""What a large JSON text may cost in memory: its values are bounded, its long strings are not decoded.

The decoder needs the whole text beside the body and the values: a string of the body's size would be there
three times, or more. So long strings are taken out of the text first, and a LongText is put into the document
for each.
"""

import collections
import re
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from shared.sizes import KIB, MIB
from shared.webhooks.long_texts import LongText, backslashes
from shared.webhooks.rejections import BodyTooLarge

MOST_VALUES = 1_000_000
"""A value costs up to 250 bytes and about two microseconds, however short it is in the text."""
LARGE = MIB
LONG = 4 * KIB
_SEPARATORS = (b",", b"[", b"{")
_SHORT = 64
_QUOTE = 0x22
_KEY = re.compile(rb"[ \t\r\n]*:")


def check_values(body: bytes) -> None:
    """Raises BodyTooLarge for more than MOST_VALUES values. What is no JSON may pass."""
    if len(body) < MOST_VALUES:
        return
    separators = _separators(body, 0, len(body))
    if separators < MOST_VALUES:
        return
    for number, (start, end) in enumerate(_strings(body)):
        if end - start > _SHORT:
            separators -= _separators(body, start, end)
        if number > 2 * MOST_VALUES:
            break
    if separators >= MOST_VALUES:
        raise BodyTooLarge(f"The body holds more than {MOST_VALUES:,} values.")


def take_out(body: bytes) -> tuple[bytes, Mapping[str, LongText]]:
    """The text with marks in the places of long strings that are values, and the strings by their marks.

    A body of at most LARGE bytes is left as it is.

    Raises UnicodeDecodeError for a string that is not UTF-8.
    """
    if len(body) <= LARGE or not _has_long_stretch(body):
        return body, {}
    nonce, taken, kept, done = secrets.token_hex(16), dict[str, LongText](), list[bytes](), 0
    for start, end in _strings(body):
        text = LongText(body, start + 1, end - 1)
        if end - start <= LONG or _KEY.match(body, end) or not _is_string(text):
            continue
        mark = f"{nonce} {len(taken)}"
        taken[mark] = text
        kept += [body[done:start], f'"{mark}"'.encode()]
        done = end
    return b"".join([*kept, body[done:]]) if taken else body, taken


def put_back(document: Any, taken: Mapping[str, LongText]) -> Any:
    """The document with the long strings in the places of their marks; it is changed itself."""
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


def _strings(body: bytes) -> Iterator[tuple[int, int]]:
    """Where each string lies, with its quotation marks. One without its end goes to that of the body.

    No regular expression: on one long string it would hold up the event loop, though it runs in a thread.
    """
    start = body.find(b'"')
    while start >= 0:
        end = body.find(b'"', start + 1)
        while end > 0 and backslashes(body, start, end) % 2:
            end = body.find(b'"', end + 1)
        end = len(body) if end < 0 else end + 1
        yield start, end
        start = body.find(b'"', end)


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


def _is_string(text: LongText) -> bool:
    """Whether it has its end, and holds nothing that JSON does not allow. Raises UnicodeDecodeError."""
    if text.body[text.stop] != _QUOTE:
        return False
    try:
        collections.deque(text.pieces(), maxlen=0)
    except UnicodeDecodeError:
        raise
    except ValueError:
        return False
    return True
