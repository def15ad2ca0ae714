"""How the fields of a composite type map to a frozen dataclass and back.

A composite on the wire is a described list: trailing fields with their default may be left out, and a null
field means its default (OASIS AMQP 1.0 part 1, section 1.4).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

from devhost.amqp.encoder import encode
from devhost.amqp.errors import InvalidField
from devhost.amqp.types import Array, Described, Symbol, UByte, UInt, ULong, UShort

T = TypeVar("T")
_MISSING = object()


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """The wire type of a field: how to make it from a Python value and how to check a decoded one."""

    name: str
    wrap: Callable[[Any], object]
    read: Callable[[Any], Any]


def _integer(name: str, wide: Callable[[Any], object], maximum: int) -> Kind:
    def read(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= maximum:
            return int(value)
        raise TypeError

    return Kind(name, wide, read)


def _instance(name: str, wrap: Callable[[Any], object], *kinds: type) -> Kind:
    def read(value: object) -> object:
        if isinstance(value, kinds):
            return value
        raise TypeError

    return Kind(name, wrap, read)


def _same(value: Any) -> Any:
    return value


def _read_symbols(value: object) -> tuple[str, ...]:
    items = value.items if isinstance(value, Array) else (value,)
    if all(isinstance(item, Symbol) for item in items):
        return tuple(str(item) for item in items)
    raise TypeError


UBYTE = _integer("ubyte", UByte, 0xFF)
USHORT = _integer("ushort", UShort, 0xFFFF)
UINT = _integer("uint", UInt, 0xFFFFFFFF)
ULONG = _integer("ulong", ULong, 0xFFFFFFFFFFFFFFFF)
BOOLEAN = _instance("boolean", bool, bool)
STRING = _instance("string", str, str)
SYMBOL = _instance("symbol", Symbol, str)
BINARY = _instance("binary", bytes, bytes)
MAP = _instance("map", _same, dict)
COMPOSITE = _instance("described type", _same, Described)
ANY = Kind("value", _same, _same)
SYMBOLS = Kind("symbols", lambda names: Array(Symbol, tuple(Symbol(name) for name in names)), _read_symbols)


def wire(kind: Kind, default: Any = _MISSING) -> Any:
    """A dataclass field of the given wire type; mandatory if it has no default."""
    if default is _MISSING:
        return dataclasses.field(metadata={"kind": kind})
    return dataclasses.field(default=default, metadata={"kind": kind})


def to_list(composite: Any) -> list[object]:
    """The field values for the wire, trailing defaults left out."""
    values: list[object] = []
    for name, kind, default in _layout(type(composite)):
        value = getattr(composite, name)
        values.append(None if value is None or value == default else kind.wrap(value))
    while values and values[-1] is None:
        values.pop()
    return values


def encode_composite(code: int, composite: Any) -> bytes:
    """A composite as a described list with the numeric descriptor `code`."""
    return encode(Described(ULong(code), to_list(composite)))


def from_list(cls: type[T], values: object) -> T:
    """The composite whose field values are in `values`. Raises `InvalidField`."""
    fields = _layout(cls)
    if not isinstance(values, list) or len(values) > len(fields):
        raise InvalidField(f"{_label(cls)} must be a list of at most {len(fields)} fields")
    found = {}
    for (name, kind, _), value in zip(fields, values, strict=False):
        if value is None:
            continue
        try:
            found[name] = kind.read(value)
        except TypeError:
            raise InvalidField(
                f"{_label(cls)}: {name} must be a {kind.name}, not a {type(value).__name__.lower()}"
            ) from None
    try:
        return cls(**found)
    except TypeError:
        lacking = [
            name for name, _, default in fields if default is dataclasses.MISSING and name not in found
        ]
        raise InvalidField(f"{_label(cls)} lacks {', '.join(lacking)}") from None


def _layout(cls: Any) -> tuple[tuple[str, Kind, object], ...]:
    """Name, wire type and default of each field, looked up once a class."""
    layout = _layouts.get(cls)
    if layout is None:
        fields = dataclasses.fields(cls)
        layout = _layouts[cls] = tuple(
            (field.name, field.metadata["kind"], field.default) for field in fields
        )
    return layout


_layouts: dict[object, tuple[tuple[str, Kind, object], ...]] = {}


def _label(cls: type) -> str:
    return cls.__name__.lower()
