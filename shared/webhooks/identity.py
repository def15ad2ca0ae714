"""Ids and names taken from events."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from shared.printable import one_line
from shared.webhooks.parsing import own_json

LONGEST_LABEL = 128


def body_id(body: bytes) -> str:
    """The id of an event whose sender gave none: the same body is the same event."""
    return f"sha256-{hashlib.sha256(body).hexdigest()}"


def event_label(text: str) -> str:
    """An event type as it is shown: one bounded line without control or direction characters."""
    return one_line(text[:LONGEST_LABEL])


def all_but(payload: Mapping[str, Any], *names: str) -> Iterator[bytes]:
    """The fields of an event without these, in one order and spelling, to be hashed; one field at a time."""
    for name in sorted(payload.keys() - set(names)):
        yield own_json({name: payload[name]})
