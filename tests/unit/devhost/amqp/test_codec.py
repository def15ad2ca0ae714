"""Encoder and decoder together, and against hostile bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devhost.amqp.decoder import MAX_COUNT, decode, decode_all
from devhost.amqp.encoder import encode
from devhost.amqp.errors import DecodeError, EncodeError
from devhost.amqp.slices import elements, skip
from devhost.amqp.types import Array, Byte, Char, Decimal64, Described, Float, Int, Symbol, UByte, UInt, ULong
from tests.unit.devhost.amqp.values import same, values


@given(values)
def test_what_is_encoded_is_decoded_with_its_types(value: object) -> None:
    assert same(decode_all(encode(value)), value)


@given(values, st.binary(max_size=20))
def test_skipping_ends_where_decoding_ends(value: object, rest: bytes) -> None:
    encoded = encode(value)
    assert skip(encoded + rest, 0) == len(encoded) == decode(encoded + rest)[1]


@given(st.lists(values, max_size=5))
def test_the_raw_elements_of_a_list_are_their_encodings(items: list[object]) -> None:
    assert elements(encode(items), 0)[1] == [encode(item) for item in items]


@given(st.binary(max_size=200))
def test_any_bytes_decode_or_are_refused_with_a_decode_error(data: bytes) -> None:
    for read in (decode, skip, elements):
        try:
            read(data, 0)
        except DecodeError as error:
            assert str(error)  # noqa: PT017 - both ends are right


@given(values, st.data())
def test_a_cut_off_value_is_refused(value: object, data: st.DataObject) -> None:
    encoded = encode(value)
    cut = data.draw(st.integers(0, len(encoded) - 1))
    with pytest.raises(DecodeError):
        decode_all(encoded[:cut])


@pytest.mark.parametrize(
    ("octets", "sentence"),
    [
        ("d0 00000005 ffffffff 40", "more than the 65536 allowed"),
        ("d0 7fffffff 00000001 40", "does not fit"),
        ("f0 00000005 00010000 40", "elements without bytes"),
        ("c1 02 01 40", "key without a value"),
        ("c1 03 02 45 40", "keys must be simple"),
        ("b0 ffffffff 00", "are announced"),
        ("a1 02 c3 28", "not valid"),
        ("a3 01 ff", "not valid"),
        ("56 02", "a boolean is 0 or 1"),
        ("73 0000d800", "not a Unicode character"),
        ("3f", "not an AMQP type"),
        ("c0 04 01 40 40 40", "does not end where its size says"),
        ("e0 04 01 00 a3 01", "are announced"),
        ("70 0000", "ends before it is complete"),
        ("", "ends before it is complete"),
    ],
)
def test_a_malformed_value_is_refused_saying_what_is_wrong(octets: str, sentence: str) -> None:
    with pytest.raises(DecodeError, match=sentence):
        decode_all(bytes.fromhex(octets))


def test_deep_nesting_is_refused_not_followed() -> None:
    for deep in (b"\xc0\x02\x01" * 70, b"\x00" * 500, b"\x00\x53\x01" * 500):
        with pytest.raises(DecodeError):
            decode_all(deep + b"\x40")
    nested: list[object] = []
    for _ in range(70):
        nested = [nested]
    with pytest.raises(EncodeError, match="nested"):
        encode(nested)


def test_nested_arrays_cannot_multiply_a_few_bytes_into_many_elements() -> None:
    inner = bytes.fromhex("f0 00000005 00010000 40")
    size = len(inner) - 1
    bomb = b"\xf0" + (size * 3 + 5).to_bytes(4, "big") + (3).to_bytes(4, "big") + b"\xf0" + inner[1:] * 3
    with pytest.raises(DecodeError, match="without bytes"):
        decode_all(bomb)


def test_a_list_of_the_greatest_length_is_read() -> None:
    assert decode_all(encode([None] * MAX_COUNT)) == [None] * MAX_COUNT
    with pytest.raises(DecodeError):
        decode_all(encode([None] * (MAX_COUNT + 1)))


@pytest.mark.parametrize(
    "value",
    [
        7,
        object(),
        UByte(256),
        Byte(200),
        Int(1 << 31),
        UInt(-1),
        Float(1e300),
        Char("ab"),
        Decimal64(b"1"),
        Symbol("é"),
        "\ud800",
        Array(UInt, (ULong(1),)),
        Array(object, ()),
        [1],
        Described(Symbol("d"), 3),
    ],
)
def test_a_value_without_an_encoding_is_refused(value: object) -> None:
    with pytest.raises(EncodeError):
        encode(value)


@pytest.mark.parametrize(
    ("value", "octets"),
    [
        (None, "40"),
        (True, "41"),
        (UInt(0), "43"),
        (ULong(0), "44"),
        ([], "45"),
        (UInt(255), "52ff"),
        (UInt(256), "7000000100"),
        (Int(-1), "54ff"),
        ("a", "a10161"),
        (Array(Symbol, (Symbol("a"),)), "e00701b30000000161"),
        ({}, "c10100"),
    ],
)
def test_the_smallest_encoding_is_chosen(value: object, octets: str) -> None:
    assert encode(value).hex() == octets


def test_bytes_after_a_value_are_refused_when_one_value_is_expected() -> None:
    with pytest.raises(DecodeError, match="1 bytes follow"):
        decode_all(b"\x40\x40")


def test_an_empty_array_without_its_constructor_is_read() -> None:
    assert decode_all(bytes.fromhex("e00100")) == Array(type(None), ())
