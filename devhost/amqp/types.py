"""AMQP 1.0 values that plain Python types cannot tell apart.

`None`, `bool`, `str`, `bytes`, `float` (double), `uuid.UUID`, `list` and `dict` stand for themselves.
Integers always carry their width (`UInt`, `Long`, ...): the peer acts on the type as well as on the value.
Source: OASIS AMQP 1.0 part 1, "Types".
"""

from __future__ import annotations

from dataclasses import dataclass


class Symbol(str):
    """A seven-bit name; equal to the same `str`, so it can be looked up by text."""

    __slots__ = ()


class Char(str):
    """One Unicode character."""

    __slots__ = ()


class UByte(int):
    """Unsigned, 8 bits."""


class UShort(int):
    """Unsigned, 16 bits."""


class UInt(int):
    """Unsigned, 32 bits."""


class ULong(int):
    """Unsigned, 64 bits."""


class Byte(int):
    """Signed, 8 bits."""


class Short(int):
    """Signed, 16 bits."""


class Int(int):
    """Signed, 32 bits."""


class Long(int):
    """Signed, 64 bits."""


class Timestamp(int):
    """Milliseconds since the Unix epoch, UTC."""


class Float(float):
    """IEEE 754 binary32; a plain `float` is binary64."""

    __slots__ = ()


class Decimal32(bytes):
    """IEEE 754 decimal32, as its 4 bytes: carried, never computed with."""

    __slots__ = ()


class Decimal64(bytes):
    """IEEE 754 decimal64, as its 8 bytes."""

    __slots__ = ()


class Decimal128(bytes):
    """IEEE 754 decimal128, as its 16 bytes."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Described:
    """A value with a descriptor (usually `ULong` or `Symbol`) that says what it means."""

    descriptor: object
    value: object


@dataclass(frozen=True, slots=True)
class Array:
    """Values of one type. `kind` is that Python type; a descriptor, if any, is common to all."""

    kind: type
    items: tuple[object, ...]
    descriptor: object = None
