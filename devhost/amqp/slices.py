"""Encoded values as raw bytes: where one ends, and the parts of a list or map."""

from __future__ import annotations

import struct

from devhost.amqp.decoder import MAX_DEPTH, extent, is_type
from devhost.amqp.errors import DecodeError

_Size = struct.Struct(">I")
_WIDTHS = {0x4: 0, 0x5: 1, 0x6: 2, 0x7: 4, 0x8: 8, 0x9: 16}
"""Bytes of a value by the upper half of its constructor; other halves announce a size."""


def skip(data: bytes, position: int) -> int:
    """The position after the value at `position`, without decoding it. Raises `DecodeError`."""
    try:
        end = _skip(data, position)
    except (IndexError, struct.error) as error:
        raise DecodeError(f"the value at byte {position} ends before it is complete") from error
    if end > len(data):
        raise DecodeError(f"the value at byte {position} is longer than the data")
    return end


def elements(data: bytes, position: int) -> tuple[int, list[bytes]]:
    """A list's or map's constructor and its elements, each as raw bytes. Raises `DecodeError`."""
    try:
        constructor = data[position]
        if constructor == 0x45:
            return constructor, []
        if constructor not in (0xC0, 0xC1, 0xD0, 0xD1):
            raise DecodeError(f"a list or map was expected, not the type 0x{constructor:02x}")
        start, end, count = extent(data, position + 1, wide=constructor >= 0xD0)
    except (IndexError, struct.error) as error:
        raise DecodeError("a list or map ends before it is complete") from error
    parts = []
    for _ in range(count):
        after = skip(data, start)
        parts.append(data[start:after])
        start = after
    if start != end:
        raise DecodeError("a list or map does not end where its size says")
    return constructor, parts


def _skip(data: bytes, position: int) -> int:
    constructor = data[position]
    position += 1
    nesting = 0
    while constructor == 0:
        nesting += 1
        if nesting > MAX_DEPTH:
            raise DecodeError(f"values are nested more than {MAX_DEPTH} deep")
        if data[position] == 0:
            raise DecodeError("a descriptor is itself described")
        position = _skip(data, position)
        constructor = data[position]
        position += 1
    if not is_type(constructor):
        raise DecodeError(f"0x{constructor:02x} is not an AMQP type")
    category = constructor >> 4
    if category in _WIDTHS:
        return position + _WIDTHS[category]
    if category in (0xA, 0xC, 0xE):
        return position + 1 + data[position]
    size: int = _Size.unpack_from(data, position)[0]
    return position + 4 + size
