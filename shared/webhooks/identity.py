"""Ids and names taken from events."""

import hashlib

from shared.printable import one_line

LONGEST_LABEL = 128


def body_id(body: bytes) -> str:
    """The id of an event whose sender gave none: the same body is the same event."""
    return f"sha256-{hashlib.sha256(body).hexdigest()}"


def event_label(text: str) -> str:
    """An event type as it is shown: one bounded line without control or direction characters."""
    return one_line(text[:LONGEST_LABEL])
