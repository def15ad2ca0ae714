"""Texts from outside, made fit to be stored and shown."""

import unicodedata


def clean_text(text: str) -> str:
    """`text` with lone surrogates (JSON's `\\ud800` escapes) replaced, so that it can be encoded."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def one_line(text: str) -> str:
    """`text` as one line: control, format and direction characters become question marks."""
    return "".join("?" if _unprintable(character) else character for character in clean_text(text))


def is_blank(text: str) -> bool:
    """Whether nothing of `text` can be seen."""
    return all(character.isspace() or _unprintable(character) for character in text)


def _unprintable(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] == "C" or category in {"Zl", "Zp"}
