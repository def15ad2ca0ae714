"""The codec against the one inside azure-servicebus, which is private and used here only to compare."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from azure.servicebus._pyamqp import performatives as theirs
from azure.servicebus._pyamqp._decode import _DECODE_BY_CONSTRUCTOR, decode_frame, decode_payload
from azure.servicebus._pyamqp._encode import encode_frame, encode_payload, encode_value
from azure.servicebus._pyamqp.message import Header, Message, Properties
from azure.servicebus._pyamqp.types import TYPE, VALUE
from hypothesis import given
from hypothesis import strategies as st

from devhost.amqp import performatives as ours
from devhost.amqp.decoder import decode_all
from devhost.amqp.encoder import encode
from devhost.amqp.message import Section, join, split
from devhost.amqp.types import (
    Array,
    Byte,
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
from tests.unit.devhost.amqp.values import BY_KIND, uuids

pytestmark = pytest.mark.oracle

_THEIR_NAME: dict[type, str] = {
    bool: "BOOL",
    UByte: "UBYTE",
    UShort: "USHORT",
    UInt: "UINT",
    ULong: "ULONG",
    Byte: "BYTE",
    Short: "SHORT",
    Int: "INT",
    Long: "LONG",
    Timestamp: "TIMESTAMP",
    float: "DOUBLE",
    Float: "FLOAT",
    bytes: "BINARY",
    str: "STRING",
    Symbol: "SYMBOL",
    uuid.UUID: "UUID",
}
_shared = st.one_of(uuids, *(BY_KIND[kind] for kind in _THEIR_NAME if kind is not uuid.UUID))


def _plain(value: object) -> object:
    """A value as their decoder gives it: without widths, all text as bytes."""
    match value:
        case str():
            return value.encode()
        case list():
            return [_plain(item) for item in value]
        case dict():
            return {_plain(key): _plain(item) for key, item in value.items()}
        case Array():
            return [_plain(item) for item in value.items]
        case _:
            return value


def _their_decode(octets: bytes) -> object:
    rest, value = _DECODE_BY_CONSTRUCTOR[octets[0]](memoryview(octets)[1:])
    assert not rest
    return value


def _for_their_encoder(value: object) -> dict[str, object]:
    return {TYPE: _THEIR_NAME[type(value)], VALUE: value}


@given(_shared | st.lists(_shared, max_size=5) | st.dictionaries(BY_KIND[str], _shared, max_size=5))
def test_they_read_what_is_written_here(value: object) -> None:
    assert _their_decode(encode(value)) == _plain(value)


@given(_shared)
def test_what_they_write_is_read_here_with_its_type(value: object) -> None:
    written = bytearray()
    encode_value(written, _for_their_encoder(value))
    got = decode_all(bytes(written))
    assert (type(got), got) == (type(value), value)


@given(st.lists(BY_KIND[Long], min_size=1, max_size=5) | st.lists(uuids, min_size=1, max_size=5))
def test_their_arrays_are_read_here(items: list[Any]) -> None:
    written = bytearray()
    encode_value(written, {TYPE: "ARRAY", VALUE: [_for_their_encoder(item) for item in items]})
    assert decode_all(bytes(written)) == Array(type(items[0]), tuple(items))


@given(
    st.sampled_from([Long, Timestamp]).flatmap(lambda kind: st.lists(BY_KIND[kind], min_size=1, max_size=5))
)
def test_arrays_written_here_are_read_there(items: list[Any]) -> None:
    assert _their_decode(encode(Array(type(items[0]), tuple(items)))) == items


def _frame(cls: Any, *fields: object) -> Any:
    """Their frame; fields left out are null."""
    return cls(*fields, *[None] * (len(cls._fields) - len(fields)))


def _sample(number: int, flag: bool, text: str) -> list[tuple[Any, Any]]:
    source = theirs_source(text)
    return [
        (
            _frame(theirs.OpenFrame, text, text, number),
            ours.Open(container_id=text, hostname=text, max_frame_size=number),
        ),
        (
            _frame(theirs.BeginFrame, None, number, 5, 6, 7),
            ours.Begin(next_outgoing_id=number, incoming_window=5, outgoing_window=6, handle_max=7),
        ),
        (
            _frame(theirs.AttachFrame, text, number, flag, 0, 1, source, None),
            ours.Attach(
                name=text,
                handle=number,
                role=flag,
                snd_settle_mode=0,
                rcv_settle_mode=1,
                source=Described(ULong(0x28), [text, *[None] * 10]),
            ),
        ),
        (
            _frame(theirs.FlowFrame, number, 5, 6, 7, 1, 2, 3, 4, flag, flag),
            ours.Flow(
                next_incoming_id=number,
                incoming_window=5,
                next_outgoing_id=6,
                outgoing_window=7,
                handle=1,
                delivery_count=2,
                link_credit=3,
                available=4,
                drain=flag,
                echo=flag,
            ),
        ),
        (
            _frame(theirs.DispositionFrame, flag, number, number, flag),
            ours.Disposition(role=flag, first=number, last=number, settled=flag),
        ),
        (_frame(theirs.DetachFrame, number, flag), ours.Detach(handle=number, closed=flag)),
        (_frame(theirs.EndFrame), ours.End()),
        (_frame(theirs.CloseFrame), ours.Close()),
    ]


def theirs_source(address: str) -> Any:
    from azure.servicebus._pyamqp.endpoints import Source

    return _frame(Source, address)


@given(st.integers(512, 0xFFFFFFFF), st.booleans(), st.text("abc", min_size=1, max_size=300))
def test_performatives_are_read_the_same_on_both_sides(number: int, flag: bool, text: str) -> None:
    for their_frame, our_frame in _sample(number, flag, text):
        _, body = encode_frame(their_frame)
        assert body is not None
        got = ours.decode_performative(bytes(body))[0]
        if isinstance(our_frame, ours.Attach) and isinstance(got, ours.Attach):
            assert (got.name, got.handle, got.role) == (text, number, flag)
            assert got.source is not None
            assert isinstance(got.source.value, list)
            assert got.source.value[0] == text
        else:
            assert got == our_frame
        code, fields = decode_frame(memoryview(ours.encode_performative(our_frame)))
        assert code == their_frame._code
        again = type(their_frame)(*fields)
        assert again[1:2] == type(their_frame)(*decode_frame(memoryview(bytes(body)))[1])[1:2]


@given(
    st.text("abc", min_size=1, max_size=20),
    st.integers(0, 0xFFFFFFFF),
    st.lists(st.binary(max_size=300), min_size=1, max_size=3),
    st.dictionaries(st.text("xyz", min_size=1), st.integers(0, 99) | st.text("é", max_size=3), max_size=3),
)
def test_their_messages_are_taken_apart_and_read_again_by_them(
    message_id: str, ttl: int, data: list[bytes], own: dict[str | bytes, Any]
) -> None:
    message = Message(
        header=Header(ttl=ttl),
        properties=Properties(message_id=message_id),
        application_properties=own,
        delivery_annotations={"da": 1},
        message_annotations={"ma": 2},
        footer={"f": 3},
        data=data,
    )
    written = bytes(encode_payload(bytearray(), message))
    apart = split(written)
    assert apart.field(Section.PROPERTIES, 0) == message_id
    assert apart.field(Section.HEADER, 2) == ttl
    assert apart.data() == data
    assert decode_payload(memoryview(join(apart))) == decode_payload(memoryview(written))
