"""Hypothesis strategies for AMQP values."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

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


def _unsigned(kind: type[int], bits: int) -> st.SearchStrategy[int]:
    return st.integers(0, (1 << bits) - 1).map(kind)


def _signed(kind: type[int], bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1).map(kind)


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
symbols = st.text(st.characters(max_codepoint=127), max_size=300).map(Symbol)

BY_KIND: dict[type, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    UByte: _unsigned(UByte, 8),
    UShort: _unsigned(UShort, 16),
    UInt: _unsigned(UInt, 32) | _unsigned(UInt, 8),
    ULong: _unsigned(ULong, 64) | _unsigned(ULong, 8),
    Byte: _signed(Byte, 8),
    Short: _signed(Short, 16),
    Int: _signed(Int, 32) | _signed(Int, 8),
    Long: _signed(Long, 64) | _signed(Long, 8),
    Timestamp: _signed(Timestamp, 64),
    float: st.floats(allow_nan=False),
    Float: st.floats(allow_nan=False, width=32).map(Float),
    Char: st.characters(exclude_categories=["Cs"]).map(Char),
    Decimal32: st.binary(min_size=4, max_size=4).map(Decimal32),
    Decimal64: st.binary(min_size=8, max_size=8).map(Decimal64),
    Decimal128: st.binary(min_size=16, max_size=16).map(Decimal128),
    bytes: st.binary(max_size=300),
    str: text,
    Symbol: symbols,
}
uuids = st.uuids()
simple = st.one_of(st.none(), uuids, *BY_KIND.values())


def _arrays(kind: type) -> st.SearchStrategy[Array]:
    items = st.lists(BY_KIND[kind], max_size=6).map(tuple)
    return st.builds(Array, st.just(kind), items, st.none() | symbols)


arrays = st.sampled_from(sorted(BY_KIND, key=lambda kind: kind.__name__)).flatmap(_arrays)
values = st.recursive(
    simple | arrays,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(symbols | text, inner, max_size=5)
        | st.builds(Described, symbols | BY_KIND[ULong], inner)
    ),
    max_leaves=20,
)


def same(left: object, right: object) -> bool:
    """Equal in value and in AMQP type, all the way down."""
    if type(left) is not type(right):
        return False
    match left, right:
        case Described(), Described():
            return same(left.descriptor, right.descriptor) and same(left.value, right.value)
        case Array(), Array():
            return left.kind is right.kind and same(list(left.items), list(right.items))
        case list(), list():
            return len(left) == len(right) and all(map(same, left, right))
        case dict(), dict():
            return same([*left.keys(), *left.values()], [*right.keys(), *right.values()])
        case _:
            return left == right
