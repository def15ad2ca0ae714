"""AMQP 1.0 bytes to Python values, bounded in depth, count and size.

Every size and count on the wire is checked against the bytes that are there before anything is allocated.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any
from uuid import UUID

from devhost.amqp.errors import DecodeError
from devhost.amqp.types import (
    Array,
    Byte,
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    Described,
    Float,
    Int,
    Long,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
)

MAX_DEPTH = 64
MAX_COUNT = 65536
MAX_ZERO_WIDTH = 64  # array elements that take no bytes: nothing else bounds their number

_Reader = Callable[[bytes, int, int], tuple[Any, int]]
_Size = struct.Struct(">I")
_SizeAndCount = struct.Struct(">II")


def decode(data: bytes, position: int = 0) -> tuple[Any, int]:
    """One value at `position`, and the position after it. Raises `DecodeError`."""
    try:
        return _value(data, position, 0)
    except (IndexError, struct.error) as error:
        raise DecodeError(f"the value at byte {position} ends before it is complete") from error
    except UnicodeDecodeError as error:
        raise DecodeError(f"the text in the value at byte {position} is not valid: {error.reason}") from error


def decode_all(data: bytes) -> Any:
    """The one value that `data` consists of. Raises `DecodeError`."""
    value, end = decode(data)
    if end != len(data):
        raise DecodeError(f"{len(data) - end} bytes follow the value")
    return value


def is_type(constructor: int) -> bool:
    """Whether a byte starts an undescribed AMQP value."""
    return constructor in _TABLE


def _value(data: bytes, position: int, depth: int) -> tuple[Any, int]:
    return _READERS[data[position]](data, position + 1, depth)


def _nested(depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise DecodeError(f"values are nested more than {MAX_DEPTH} deep")
    return depth + 1


def _constant(value: object) -> _Reader:
    return lambda _data, position, _depth: (value, position)


def _number(code: str, wrap: Callable[[Any], object]) -> _Reader:
    form = struct.Struct(code)
    size = form.size

    def read(data: bytes, position: int, _depth: int) -> tuple[Any, int]:
        return wrap(form.unpack_from(data, position)[0]), position + size

    return read


def _boolean(octet: int) -> bool:
    if octet > 1:
        raise DecodeError(f"a boolean is 0 or 1, not {octet}")
    return bool(octet)


def _char(code: int) -> Char:
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise DecodeError(f"0x{code:x} is not a Unicode character")
    return Char(chr(code))


def _fixed(size: int, wrap: Callable[[bytes], object]) -> _Reader:
    def read(data: bytes, position: int, _depth: int) -> tuple[Any, int]:
        return wrap(_cut(data, position, size)), position + size

    return read


def _variable(wrap: Callable[[bytes], object], *, wide: bool) -> _Reader:
    def read(data: bytes, position: int, _depth: int) -> tuple[Any, int]:
        if wide:
            size, start = _Size.unpack_from(data, position)[0], position + 4
        else:
            size, start = data[position], position + 1
        return wrap(_cut(data, start, size)), start + size

    return read


def _cut(data: bytes, start: int, size: int) -> bytes:
    if start + size > len(data):
        raise DecodeError(
            f"{size} bytes are announced at byte {start} but only {len(data) - start} are there"
        )
    return data[start : start + size]


def _utf8(octets: bytes) -> str:
    return octets.decode("utf-8")


def _symbol(octets: bytes) -> Symbol:
    return Symbol(octets.decode("ascii"))


def extent(data: bytes, position: int, *, wide: bool) -> tuple[int, int, int]:
    """Where a compound's content starts and ends, and how many elements it announces."""
    if wide:
        size, count = _SizeAndCount.unpack_from(data, position)
        start, end = position + 8, position + 4 + size
    else:
        size, count = data[position], data[position + 1]
        start, end = position + 2, position + 1 + size
    if end < start or end > len(data):
        raise DecodeError(f"a compound value of {size} bytes does not fit in the data")
    if count > MAX_COUNT:
        raise DecodeError(f"{count} elements are more than the {MAX_COUNT} allowed")
    return start, end, count


def _list(*, wide: bool) -> _Reader:
    def read(data: bytes, position: int, depth: int) -> tuple[Any, int]:
        position, end, count = extent(data, position, wide=wide)
        inner = _nested(depth)
        values = []
        for _ in range(count):
            value, position = _READERS[data[position]](data, position + 1, inner)
            values.append(value)
        if position != end:
            raise DecodeError("a list does not end where its size says")
        return values, end

    return read


def _map(*, wide: bool) -> _Reader:
    read_list = _list(wide=wide)

    def read(data: bytes, position: int, depth: int) -> tuple[Any, int]:
        flat, end = read_list(data, position, depth)
        if len(flat) % 2:
            raise DecodeError("a map has a key without a value")
        try:
            return dict(zip(flat[::2], flat[1::2], strict=True)), end
        except TypeError as error:
            raise DecodeError("a map's keys must be simple values") from error

    return read


def _array(*, wide: bool) -> _Reader:
    def read(data: bytes, position: int, depth: int) -> tuple[Any, int]:
        position, end, count = extent(data, position, wide=wide)
        inner = _nested(depth)
        if count == 0 and position == end:  # some encoders leave out the constructor of an empty array
            return Array(type(None), ()), end
        descriptor = None
        constructor = data[position]
        position += 1
        if constructor == 0:
            descriptor, position = _value(data, position, inner)
            constructor = data[position]
            position += 1
        if constructor == 0:
            raise DecodeError("an array's elements are described twice")
        if constructor >> 4 == 0x4 and count > MAX_ZERO_WIDTH:
            raise DecodeError(f"an array of {count} elements without bytes is refused")
        reader = _READERS[constructor]
        items = []
        for _ in range(count):
            value, position = reader(data, position, inner)
            items.append(value)
        if position != end:
            raise DecodeError("an array does not end where its size says")
        return Array(_KINDS.get(constructor, type(None)), tuple(items), descriptor), end

    return read


def _described(data: bytes, position: int, depth: int) -> tuple[Any, int]:
    inner = _nested(depth)
    descriptor, position = _value(data, position, inner)
    value, position = _value(data, position, inner)
    return Described(descriptor, value), position


def _unknown(data: bytes, position: int, _depth: int) -> tuple[Any, int]:
    raise DecodeError(f"0x{data[position - 1]:02x} is not an AMQP type")


def _empty_list(_data: bytes, position: int, _depth: int) -> tuple[Any, int]:
    return [], position


_TABLE: dict[int, tuple[type, _Reader]] = {
    0x40: (type(None), _constant(None)),
    0x41: (bool, _constant(True)),
    0x42: (bool, _constant(False)),
    0x43: (UInt, _constant(UInt(0))),
    0x44: (ULong, _constant(ULong(0))),
    0x45: (list, _empty_list),
    0x50: (UByte, _number(">B", UByte)),
    0x51: (Byte, _number(">b", Byte)),
    0x52: (UInt, _number(">B", UInt)),
    0x53: (ULong, _number(">B", ULong)),
    0x54: (Int, _number(">b", Int)),
    0x55: (Long, _number(">b", Long)),
    0x56: (bool, _number(">B", _boolean)),
    0x60: (UShort, _number(">H", UShort)),
    0x61: (Short, _number(">h", Short)),
    0x70: (UInt, _number(">I", UInt)),
    0x71: (Int, _number(">i", Int)),
    0x72: (Float, _number(">f", Float)),
    0x73: (Char, _number(">I", _char)),
    0x74: (Decimal32, _fixed(4, Decimal32)),
    0x80: (ULong, _number(">Q", ULong)),
    0x81: (Long, _number(">q", Long)),
    0x82: (float, _number(">d", float)),
    0x83: (Timestamp, _number(">q", Timestamp)),
    0x84: (Decimal64, _fixed(8, Decimal64)),
    0x94: (Decimal128, _fixed(16, Decimal128)),
    0x98: (UUID, _fixed(16, lambda octets: UUID(bytes=octets))),
    0xA0: (bytes, _variable(bytes, wide=False)),
    0xA1: (str, _variable(_utf8, wide=False)),
    0xA3: (Symbol, _variable(_symbol, wide=False)),
    0xB0: (bytes, _variable(bytes, wide=True)),
    0xB1: (str, _variable(_utf8, wide=True)),
    0xB3: (Symbol, _variable(_symbol, wide=True)),
    0xC0: (list, _list(wide=False)),
    0xC1: (dict, _map(wide=False)),
    0xD0: (list, _list(wide=True)),
    0xD1: (dict, _map(wide=True)),
    0xE0: (Array, _array(wide=False)),
    0xF0: (Array, _array(wide=True)),
}
_KINDS = {code: kind for code, (kind, _) in _TABLE.items()}
_READERS: list[_Reader] = [_TABLE[code][1] if code in _TABLE else _unknown for code in range(256)]
_READERS[0x00] = _described
