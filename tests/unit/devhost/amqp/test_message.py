"""Raw messages: taken apart, put together, changed in one place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devhost.amqp.decoder import decode_all
from devhost.amqp.encoder import encode
from devhost.amqp.errors import AmqpError, DecodeError
from devhost.amqp.message import RawMessage, Section, build, join, merge_map, replace_field, split
from devhost.amqp.types import Described, Int, Symbol, UInt, ULong
from tests.unit.devhost.amqp.values import simple, symbols, values

maps = st.dictionaries(symbols, simple, max_size=4)
lists = st.lists(simple, max_size=5)


def section(code: Section, content: object) -> bytes:
    return encode(Described(ULong(code), content))


messages = st.fixed_dictionaries(
    {},
    optional={
        Section.HEADER: lists,
        Section.DELIVERY_ANNOTATIONS: maps,
        Section.MESSAGE_ANNOTATIONS: maps,
        Section.PROPERTIES: lists,
        Section.APPLICATION_PROPERTIES: maps,
        Section.FOOTER: maps,
    },
)
bodies = (
    st.lists(st.binary(max_size=40).map(lambda data: section(Section.DATA, data)), max_size=3)
    | st.lists(st.lists(values, max_size=2).map(lambda items: section(Section.SEQUENCE, items)), max_size=2)
    | values.map(lambda value: [section(Section.VALUE, value)])
)


@given(messages, bodies)
def test_joining_what_was_split_gives_the_same_bytes_in_standard_order(
    sections: dict[Section, object], body: list[bytes]
) -> None:
    before = [
        section(code, sections[code]) for code in Section if code in sections and code != Section.FOOTER
    ]
    footer = [section(Section.FOOTER, sections[Section.FOOTER])] if Section.FOOTER in sections else []
    encoded = b"".join([*before, *body, *footer])
    message = split(encoded)
    message.check()
    assert join(message) == encoded


@given(messages, st.permutations(list(Section)), st.binary(max_size=9))
def test_sections_are_found_in_any_order(
    sections: dict[Section, object], order: list[Section], data: bytes
) -> None:
    parts = {**sections, Section.DATA: data}
    message = split(b"".join(section(code, parts[code]) for code in order if code in parts))
    assert message.data() == [data]
    assert {code: decode_all(raw) for code, raw in message.values.items()} == sections


@given(st.binary(max_size=120))
def test_any_bytes_are_a_message_or_refused_with_a_decode_error(data: bytes) -> None:
    try:
        message = split(data)
        message.check()
    except AmqpError as error:
        assert str(error)  # noqa: PT017 - both ends are right
    else:
        assert isinstance(join(message), bytes)


@given(maps, maps)
def test_merging_keeps_other_entries_byte_for_byte_and_in_order(
    old: dict[object, object], new: dict[object, object]
) -> None:
    merged = merge_map(encode(old), (), new)
    kept = {key: value for key, value in old.items() if key not in new}
    assert merged == encode({**kept, **new})


def test_merging_drops_entries_by_name_whatever_their_kind_of_text() -> None:
    raw = encode({Symbol("a"): Int(1), "b": Int(2), "c": Int(3)})
    assert decode_all(merge_map(raw, ("a", "b"), {})) == {"c": 3}
    assert decode_all(merge_map(None, (), {"x": True})) == {"x": True}


def test_an_unusual_encoding_of_another_entry_survives() -> None:
    wide_int = b"\x71\x00\x00\x00\x01"  # an int that would fit in one byte
    raw = b"\xc1" + bytes([1 + 3 + 5, 2]) + b"\xa3\x01k" + wide_int
    assert wide_int in merge_map(raw, (), {Symbol("new"): True})


@given(lists, st.integers(0, 6))
def test_replacing_a_field_leaves_the_others(fields: list[object], index: int) -> None:
    changed = decode_all(replace_field(encode(fields), index, UInt(7)))
    expected = [*fields, *[None] * (index + 1 - len(fields))]
    expected[index] = UInt(7)
    assert changed == expected


@pytest.mark.parametrize(
    ("octets", "sentence"),
    [
        (b"\x40", "described value"),
        (section(Section.HEADER, []) * 2, "two header sections"),
        (encode(Described(ULong(0x10), [])), "does not know"),
        (encode(Described(Symbol("x:y"), [])), "does not know"),
        (section(Section.DATA, b"abc")[:-1], "longer than the data"),
    ],
)
def test_what_is_no_message_is_refused(octets: bytes, sentence: str) -> None:
    with pytest.raises(DecodeError, match=sentence):
        split(octets)


@pytest.mark.parametrize(
    "octets",
    [
        section(Section.HEADER, {}),
        section(Section.MESSAGE_ANNOTATIONS, []),
        section(Section.APPLICATION_PROPERTIES, "text"),
        bytes.fromhex("005372c105 02a30161 a1"),
        bytes.fromhex("005374c107 02a10161 a101ff"),
    ],
)
def test_a_section_of_a_wrong_kind_fails_the_check(octets: bytes) -> None:
    with pytest.raises(DecodeError):
        split(octets).check()


def test_sections_may_be_named_by_symbol() -> None:
    message = split(encode(Described(Symbol("amqp:data:binary"), b"x")))
    assert message.data() == [b"x"]


def test_fields_and_maps_are_read_when_there_and_empty_when_not() -> None:
    message = split(
        build(properties=["id", None, "to"], application_properties={"a": Int(1)}, value={"k": "v"})
    )
    assert message.field(Section.PROPERTIES, 2) == "to"
    assert message.field(Section.PROPERTIES, 9) is None
    assert message.field(Section.HEADER, 0) is None
    assert message.map(Section.APPLICATION_PROPERTIES) == {"a": 1}
    assert message.map(Section.FOOTER) == {}
    assert message.value() == {"k": "v"}


def test_a_body_of_another_kind_than_asked_for_is_refused() -> None:
    with pytest.raises(DecodeError, match="one amqp-value"):
        split(section(Section.DATA, b"x")).value()
    with pytest.raises(DecodeError, match="data sections"):
        split(section(Section.VALUE, "x")).data()
    assert RawMessage({}, ()).data() == []
