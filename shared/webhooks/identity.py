"""Names and ids taken from events, made fit to be stored and shown."""

import hashlib
import unicodedata

LONGEST_LABEL = 128


def body_id(body: bytes) -> str:
    """The id of an event whose sender gave none: the same body is the same event."""
    return f"sha256-{hashlib.sha256(body).hexdigest()}"


def clean_text(text: str) -> str:
    """`text` with lone surrogates (JSON's `\\ud800` escapes) replaced, so that it can be encoded."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def event_label(text: str) -> str:
    """An event type as it is shown: one bounded line without control or direction characters."""
    return "".join(
        "?" if _unprintable(character) else character for character in clean_text(text[:LONGEST_LABEL])
    )


def _unprintable(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] == "C" or category in {"Zl", "Zp"}
