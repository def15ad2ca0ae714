"""How many values a JSON text may hold: each takes up to two microseconds, however short it is."""

from collections.abc import Iterator

from shared.webhooks.long_texts import whole_escapes
from shared.webhooks.rejections import BodyTooLarge

MOST_VALUES = 1_000_000
_SEPARATORS = (b",", b"[", b"{")


def check_values(body: bytes) -> None:
    """Raises BodyTooLarge for more than MOST_VALUES values. What is no JSON may pass."""
    if len(body) < MOST_VALUES or _separators(body) < MOST_VALUES:
        return
    count = 0
    for structure in _outside_of_strings(body):
        count += _separators(structure)
        if count >= MOST_VALUES:
            raise BodyTooLarge(f"The body holds more than {MOST_VALUES:,} values.")


def _separators(text: bytes) -> int:
    return sum(map(text.count, _SEPARATORS))


def _outside_of_strings(body: bytes) -> Iterator[bytes]:
    """What is left of each piece without its strings."""
    inside = False
    for piece in whole_escapes(body):
        parts = piece.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')
        yield b"".join(parts[inside::2])
        inside ^= len(parts) % 2 == 0
