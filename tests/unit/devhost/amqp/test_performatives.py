"""Performatives, delivery states and SASL bodies to bytes and back."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devhost.amqp import sasl
from devhost.amqp.encoder import encode
from devhost.amqp.errors import AmqpError, DecodeError, InvalidField
from devhost.amqp.outcomes import (
    Accepted,
    DeliveryState,
    Error,
    Modified,
    Received,
    Rejected,
    Released,
    describe_error,
    describe_state,
    read_error,
    read_state,
    source_filter,
    terminus_address,
)
from devhost.amqp.performatives import (
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Flow,
    Open,
    Performative,
    Transfer,
    decode_performative,
    encode_performative,
)
from devhost.amqp.types import Described, Symbol, UInt, ULong

_BY_NAME: dict[str, st.SearchStrategy[object]] = {
    "ubyte": st.integers(0, 255),
    "ushort": st.integers(0, 0xFFFF),
    "uint": st.integers(0, 0xFFFFFFFF),
    "ulong": st.integers(0, 0xFFFFFFFFFFFFFFFF),
    "boolean": st.booleans(),
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    "symbol": st.text("abc:-", max_size=20),
    "symbols": st.lists(st.text("abc", max_size=9), max_size=3).map(tuple),
    "binary": st.binary(max_size=20),
    "map": st.just({Symbol("k"): "v"}),
    "described type": st.just(Described(ULong(0x28), ["a", None, UInt(4)])),
    "value": st.none(),
}


def _instances(cls: type[Performative]) -> st.SearchStrategy[Performative]:
    fields = {}
    for field in dataclasses.fields(cls):
        strategy = _BY_NAME[field.metadata["kind"].name]
        fields[field.name] = (
            strategy if field.default is dataclasses.MISSING else st.just(field.default) | strategy
        )
    return st.builds(cls, **fields)


performatives = st.sampled_from(
    [Open, Begin, Attach, Flow, Transfer, Disposition, Detach, End, Close]
).flatmap(_instances)


@given(performatives, st.binary(max_size=20))
def test_a_performative_and_its_payload_come_back_as_they_were(sent: Performative, payload: bytes) -> None:
    assert decode_performative(encode_performative(sent) + payload) == (sent, payload)


@given(st.binary(max_size=100))
def test_any_frame_body_is_read_or_refused_as_an_amqp_error(body: bytes) -> None:
    for read in (decode_performative, sasl.decode_sasl):
        try:
            read(body)
        except AmqpError as error:
            assert str(error)  # noqa: PT017 - both ends are right


def test_omitted_and_null_fields_mean_their_defaults() -> None:
    body = encode(Described(ULong(0x10), ["c", None, None]))
    assert decode_performative(body)[0] == Open(container_id="c")
    assert Open(container_id="c").max_frame_size == 0xFFFFFFFF


def test_a_performative_may_be_named_by_symbol() -> None:
    assert decode_performative(encode(Described(Symbol("amqp:end:list"), [])))[0] == End()


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (Described(ULong(0x10), []), "open lacks container_id"),
        (Described(ULong(0x14), [None, UInt(1)]), "transfer lacks handle"),
        (Described(ULong(0x14), ["x"]), "transfer: handle must be a uint, not a str"),
        (Described(ULong(0x18), [None, None]), "close must be a list of at most 1 fields"),
        (Described(ULong(0x18), {}), "close must be a list"),
        (Described(ULong(0x77), []), "119 is not a performative"),
    ],
)
def test_a_wrong_performative_is_refused_naming_the_field(value: Described, sentence: str) -> None:
    with pytest.raises(InvalidField, match=sentence):
        decode_performative(encode(value))


def test_a_frame_that_starts_with_no_performative_is_refused() -> None:
    with pytest.raises(DecodeError, match="described performative"):
        decode_performative(encode("text"))


@pytest.mark.parametrize(
    "state",
    [
        Accepted(),
        Released(),
        Rejected(),
        Rejected(describe_error(Error("a:b", "why", {Symbol("k"): "v"}))),
        Modified(delivery_failed=True, undeliverable_here=True),
        Modified(),
        Received(3, ULong(4)),
    ],
)
def test_a_delivery_state_comes_back_as_it_was(state: DeliveryState) -> None:
    assert read_state(describe_state(state)) == state


def test_an_error_comes_back_with_all_three_parts() -> None:
    error = Error("amqp:not-found", "No such queue.", {Symbol("broker"): "local"})
    described = describe_error(error)
    assert read_error(described) == error
    assert described.value == ["amqp:not-found", "No such queue.", {"broker": "local"}]


@pytest.mark.parametrize("value", ["text", Described(ULong(1), []), Described(ULong(0x24), [UInt(1)])])
def test_what_is_no_delivery_state_is_refused(value: object) -> None:
    with pytest.raises(InvalidField):
        read_state(value)


def test_address_and_filter_are_read_from_termini() -> None:
    filters = {Symbol("com.microsoft:session-filter"): None}
    source = Described(ULong(0x28), ["queue", *[None] * 6, filters])
    assert terminus_address(source) == "queue"
    assert source_filter(source) == filters
    assert terminus_address(None) is None
    assert terminus_address(Described(ULong(0x28), [])) is None
    assert source_filter(Described(ULong(0x28), ["queue"])) == {}


@pytest.mark.parametrize(
    "body",
    [
        sasl.Mechanisms(("ANONYMOUS", "PLAIN")),
        sasl.Init("ANONYMOUS", b"x", "host"),
        sasl.Challenge(b"c"),
        sasl.Response(b"r"),
        sasl.Outcome(sasl.OK),
    ],
)
def test_a_sasl_body_comes_back_as_it_was(body: sasl.SaslBody) -> None:
    assert sasl.decode_sasl(sasl.encode_sasl(body)) == body
