"""Python values to AMQP 1.0 bytes, always in the smallest encoding of the type."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any
from uuid import UUID

from devhost.amqp.errors import EncodeError
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
_MAX_UINT32 = 0xFFFFFFFF

_NUMBERS: dict[type, tuple[int, struct.Struct]] = {
    UByte: (0x50, struct.Struct(">B")),
    Byte: (0x51, struct.Struct(">b")),
    UShort: (0x60, struct.Struct(">H")),
    Short: (0x61, struct.Struct(">h")),
    UInt: (0x70, struct.Struct(">I")),
    Int: (0x71, struct.Struct(">i")),
    Float: (0x72, struct.Struct(">f")),
    ULong: (0x80, struct.Struct(">Q")),
    Long: (0x81, struct.Struct(">q")),
    float: (0x82, struct.Struct(">d")),
    Timestamp: (0x83, struct.Struct(">q")),
}
_SMALL_UNSIGNED: dict[type, tuple[int, int]] = {UInt: (0x43, 0x52), ULong: (0x44, 0x53)}
_SMALL_SIGNED: dict[type, int] = {Int: 0x54, Long: 0x55}
_DECIMALS: dict[type, tuple[int, int]] = {Decimal32: (0x74, 4), Decimal64: (0x84, 8), Decimal128: (0x94, 16)}
_VARIABLE: dict[type, int] = {bytes: 0xA0, str: 0xA1, Symbol: 0xA3}


def encode(value: object) -> bytes:
    """The encoding of one value, constructor included. Raises `EncodeError`."""
    out = bytearray()
    encode_into(out, value)
    return bytes(out)


def encode_into(out: bytearray, value: object, depth: int = 0) -> None:
    """Append the encoding of `value` to `out`. Raises `EncodeError`."""
    if value is None:
        out.append(0x40)
        return
    writer = _WRITERS.get(type(value))
    if writer is None:
        raise EncodeError(
            f"{type(value).__name__} has no AMQP encoding; integers must name their width (UInt, Long, ...)"
        )
    writer(out, value, depth)


def _number(out: bytearray, value: Any, _depth: int) -> None:
    kind = type(value)
    if kind in _SMALL_UNSIGNED and 0 <= value <= 0xFF:
        zero, small = _SMALL_UNSIGNED[kind]
        out += bytes((small, value)) if value else bytes((zero,))
    elif kind in _SMALL_SIGNED and -128 <= value <= 127:
        out += bytes((_SMALL_SIGNED[kind], value & 0xFF))
    else:
        out.append(_NUMBERS[kind][0])
        _number_body(out, value, 0)


def _number_body(out: bytearray, value: Any, _depth: int) -> None:
    kind = type(value)
    try:
        out += _NUMBERS[kind][1].pack(value)
    except (struct.error, OverflowError) as error:
        raise EncodeError(f"{value!r} does not fit the AMQP type {kind.__name__.lower()}") from error


def _boolean(out: bytearray, value: bool, _depth: int) -> None:
    out.append(0x41 if value else 0x42)


def _boolean_body(out: bytearray, value: bool, _depth: int) -> None:
    out.append(1 if value else 0)


def _char(out: bytearray, value: Char, _depth: int) -> None:
    out.append(0x73)
    _char_body(out, value, 0)


def _char_body(out: bytearray, value: Char, _depth: int) -> None:
    if len(value) != 1:
        raise EncodeError("an AMQP char is exactly one character")
    out += ord(value).to_bytes(4, "big")


def _decimal(out: bytearray, value: bytes, _depth: int) -> None:
    out.append(_DECIMALS[type(value)][0])
    _decimal_body(out, value, 0)


def _decimal_body(out: bytearray, value: bytes, _depth: int) -> None:
    if len(value) != _DECIMALS[type(value)][1]:
        raise EncodeError(f"{type(value).__name__} takes {_DECIMALS[type(value)][1]} bytes, not {len(value)}")
    out += value


def _uuid(out: bytearray, value: UUID, _depth: int) -> None:
    out.append(0x98)
    out += value.bytes


def _uuid_body(out: bytearray, value: UUID, _depth: int) -> None:
    out += value.bytes


def _octets(value: Any) -> bytes:
    try:
        match value:
            case Symbol():
                return value.encode("ascii")
            case str():
                return value.encode("utf-8")
            case _:
                return bytes(value)
    except UnicodeEncodeError as error:
        raise EncodeError(f"{type(value).__name__} holds a character its encoding lacks") from error


def _variable(out: bytearray, value: Any, _depth: int) -> None:
    octets = _octets(value)
    constructor = _VARIABLE[type(value)]
    if len(octets) <= 0xFF:
        out += bytes((constructor, len(octets)))
        out += octets
    else:
        out.append(constructor | 0x10)
        _variable_body(out, value, 0)


def _variable_body(out: bytearray, value: Any, _depth: int) -> None:
    octets = _octets(value)
    out += len(octets).to_bytes(4, "big")
    out += octets


def _nested(depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise EncodeError(f"values are nested more than {MAX_DEPTH} deep")
    return depth + 1


def _flat(value: Any, depth: int) -> tuple[bytearray, int]:
    body = bytearray()
    inner = _nested(depth)
    items = [part for pair in value.items() for part in pair] if isinstance(value, dict) else value
    for item in items:
        encode_into(body, item, inner)
    return body, len(items)


def _compound(out: bytearray, value: Any, depth: int) -> None:
    if value == []:
        out.append(0x45)
        return
    body, count = _flat(value, depth)
    out += compound_bytes(0xC1 if isinstance(value, dict) else 0xC0, body, count)


def compound_bytes(small: int, body: bytes | bytearray, count: int) -> bytes:
    """Wrap encoded elements as a list (`small`=0xC0) or map (0xC1); `count` is the number of elements."""
    if len(body) < 0xFF and count <= 0xFF:
        return bytes((small, len(body) + 1, count)) + body
    return bytes((small | 0x10,)) + (len(body) + 4).to_bytes(4, "big") + count.to_bytes(4, "big") + body


def _compound_body(out: bytearray, value: Any, depth: int) -> None:
    body, count = _flat(value, depth)
    out += (len(body) + 4).to_bytes(4, "big") + count.to_bytes(4, "big") + body


def _described(out: bytearray, value: Described, depth: int) -> None:
    inner = _nested(depth)
    out.append(0)
    encode_into(out, value.descriptor, inner)
    encode_into(out, value.value, inner)


def _array(out: bytearray, value: Array, depth: int) -> None:
    body = _array_content(value, depth)
    count = len(value.items)
    if len(body) < 0xFF and count <= 0xFF:
        out += bytes((0xE0, len(body) + 1, count)) + body
    else:
        out.append(0xF0)
        out += (len(body) + 4).to_bytes(4, "big") + count.to_bytes(4, "big") + body


def _array_body(out: bytearray, value: Array, depth: int) -> None:
    body = _array_content(value, depth)
    out += (len(body) + 4).to_bytes(4, "big") + len(value.items).to_bytes(4, "big") + body


def _array_content(value: Array, depth: int) -> bytearray:
    if value.kind not in _ELEMENTS:
        raise EncodeError(f"an array of {value.kind.__name__} has no AMQP encoding")
    constructor, writer = _ELEMENTS[value.kind]
    inner = _nested(depth)
    body = bytearray()
    if value.descriptor is not None:
        body.append(0)
        encode_into(body, value.descriptor, inner)
    body.append(constructor)
    for item in value.items:
        if type(item) is not value.kind:
            raise EncodeError(f"an array of {value.kind.__name__} cannot hold a {type(item).__name__}")
        writer(body, item, inner)
    return body


def _nothing(out: bytearray, value: object, depth: int) -> None:
    """A null array element has no bytes of its own."""


_Writer = Callable[[bytearray, Any, int], None]
_WRITERS: dict[type, _Writer] = {
    bool: _boolean,
    Char: _char,
    UUID: _uuid,
    list: _compound,
    dict: _compound,
    Described: _described,
    Array: _array,
    **dict.fromkeys(_NUMBERS, _number),
    **dict.fromkeys(_DECIMALS, _decimal),
    **dict.fromkeys(_VARIABLE, _variable),
}
_ELEMENTS: dict[type, tuple[int, _Writer]] = {
    type(None): (0x40, _nothing),
    bool: (0x56, _boolean_body),
    Char: (0x73, _char_body),
    UUID: (0x98, _uuid_body),
    list: (0xD0, _compound_body),
    dict: (0xD1, _compound_body),
    Array: (0xF0, _array_body),
    **{kind: (code, _number_body) for kind, (code, _) in _NUMBERS.items()},
    **{kind: (code, _decimal_body) for kind, (code, _) in _DECIMALS.items()},
    **{kind: (code | 0x10, _variable_body) for kind, code in _VARIABLE.items()},
}
