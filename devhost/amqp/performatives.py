"""The nine performatives of AMQP 1.0 (OASIS AMQP 1.0 part 2, section 2.7), fields in wire order."""
# ruff: noqa: RUF009 - wire() is dataclasses.field with the wire type attached

from __future__ import annotations

from dataclasses import dataclass

from devhost.amqp.decoder import decode
from devhost.amqp.errors import DecodeError, InvalidField
from devhost.amqp.fields import (
    ANY,
    BINARY,
    BOOLEAN,
    COMPOSITE,
    MAP,
    STRING,
    SYMBOLS,
    UBYTE,
    UINT,
    ULONG,
    USHORT,
    encode_composite,
    from_list,
    wire,
)
from devhost.amqp.types import Described

_Fields = dict[object, object]
SENDER, RECEIVER = False, True  # the `role` field


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    container_id: str = wire(STRING)
    hostname: str | None = wire(STRING, None)
    max_frame_size: int = wire(UINT, 0xFFFFFFFF)
    channel_max: int = wire(USHORT, 0xFFFF)
    idle_time_out: int | None = wire(UINT, None)
    outgoing_locales: tuple[str, ...] | None = wire(SYMBOLS, None)
    incoming_locales: tuple[str, ...] | None = wire(SYMBOLS, None)
    offered_capabilities: tuple[str, ...] | None = wire(SYMBOLS, None)
    desired_capabilities: tuple[str, ...] | None = wire(SYMBOLS, None)
    properties: _Fields | None = wire(MAP, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    remote_channel: int | None = wire(USHORT, None)
    next_outgoing_id: int = wire(UINT)
    incoming_window: int = wire(UINT)
    outgoing_window: int = wire(UINT)
    handle_max: int = wire(UINT, 0xFFFFFFFF)
    offered_capabilities: tuple[str, ...] | None = wire(SYMBOLS, None)
    desired_capabilities: tuple[str, ...] | None = wire(SYMBOLS, None)
    properties: _Fields | None = wire(MAP, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attach:
    name: str = wire(STRING)
    handle: int = wire(UINT)
    role: bool = wire(BOOLEAN)
    snd_settle_mode: int = wire(UBYTE, 2)
    rcv_settle_mode: int = wire(UBYTE, 0)
    source: Described | None = wire(COMPOSITE, None)
    target: Described | None = wire(COMPOSITE, None)
    unsettled: _Fields | None = wire(MAP, None)
    incomplete_unsettled: bool = wire(BOOLEAN, False)
    initial_delivery_count: int | None = wire(UINT, None)
    max_message_size: int | None = wire(ULONG, None)
    offered_capabilities: tuple[str, ...] | None = wire(SYMBOLS, None)
    desired_capabilities: tuple[str, ...] | None = wire(SYMBOLS, None)
    properties: _Fields | None = wire(MAP, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    next_incoming_id: int | None = wire(UINT, None)
    incoming_window: int = wire(UINT)
    next_outgoing_id: int = wire(UINT)
    outgoing_window: int = wire(UINT)
    handle: int | None = wire(UINT, None)
    delivery_count: int | None = wire(UINT, None)
    link_credit: int | None = wire(UINT, None)
    available: int | None = wire(UINT, None)
    drain: bool = wire(BOOLEAN, False)
    echo: bool = wire(BOOLEAN, False)
    properties: _Fields | None = wire(MAP, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    handle: int = wire(UINT)
    delivery_id: int | None = wire(UINT, None)
    delivery_tag: bytes | None = wire(BINARY, None)
    message_format: int | None = wire(UINT, None)
    settled: bool | None = wire(BOOLEAN, None)
    more: bool = wire(BOOLEAN, False)
    rcv_settle_mode: int | None = wire(UBYTE, None)
    state: object = wire(ANY, None)
    resume: bool = wire(BOOLEAN, False)
    aborted: bool = wire(BOOLEAN, False)
    batchable: bool = wire(BOOLEAN, False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disposition:
    role: bool = wire(BOOLEAN)
    first: int = wire(UINT)
    last: int | None = wire(UINT, None)
    settled: bool = wire(BOOLEAN, False)
    state: object = wire(ANY, None)
    batchable: bool = wire(BOOLEAN, False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Detach:
    handle: int = wire(UINT)
    closed: bool = wire(BOOLEAN, False)
    error: Described | None = wire(COMPOSITE, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    error: Described | None = wire(COMPOSITE, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    error: Described | None = wire(COMPOSITE, None)


Performative = Open | Begin | Attach | Flow | Transfer | Disposition | Detach | End | Close

_CODES: dict[type[Performative], int] = {
    Open: 0x10,
    Begin: 0x11,
    Attach: 0x12,
    Flow: 0x13,
    Transfer: 0x14,
    Disposition: 0x15,
    Detach: 0x16,
    End: 0x17,
    Close: 0x18,
}
_CLASSES: dict[object, type[Performative]] = {code: cls for cls, code in _CODES.items()}
_CLASSES.update({f"amqp:{cls.__name__.lower()}:list": cls for cls in _CODES})


def encode_performative(performative: Performative) -> bytes:
    """The performative as it stands at the start of a frame's body."""
    return encode_composite(_CODES[type(performative)], performative)


def decode_performative(body: bytes) -> tuple[Performative, bytes]:
    """The performative at the start of a frame's body, and the payload after it.

    Raises `DecodeError` for bytes that are no AMQP value, `InvalidField` for wrong fields.
    """
    value, end = decode(body)
    if not isinstance(value, Described) or not isinstance(value.descriptor, int | str):
        raise DecodeError("a frame must start with a described performative")
    cls = _CLASSES.get(value.descriptor)
    if cls is None:
        raise InvalidField(f"{value.descriptor!r} is not a performative")
    performative: Performative = from_list(cls, value.value)
    return performative, body[end:]
