"""Cursors: where a page of a list ended, as a text that only this list takes back."""

import base64
import json

from shared.adapters.limits import key_is_valid

_MAX_CURSOR = 1024


def to_cursor(name: str, last_key: str) -> str:
    """An opaque text that continues the list `name` after `last_key`."""
    raw = json.dumps([name, last_key], separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def from_cursor(name: str, cursor: str) -> str:
    """The key after which to go on. Raises ValueError when the cursor is none of ours, or of another list."""
    found, key = _read(cursor)
    if found != name:
        raise ValueError("The cursor belongs to another list; start without one.")
    return key


def _read(cursor: str) -> tuple[str, str]:
    invalid = ValueError("The cursor is not one that this list gave out; start without one.")
    if len(cursor) > _MAX_CURSOR or not cursor.isascii():
        raise invalid
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        document = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        raise invalid from None
    match document:
        case [str() as name, str() as key] if key_is_valid(key):
            return name, key
        case _:
            raise invalid
