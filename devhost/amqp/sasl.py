"""SASL frames (OASIS AMQP 1.0 part 5, section 5.3)."""

from __future__ import annotations

from dataclasses import dataclass

from devhost.amqp.decoder import decode_all
from devhost.amqp.errors import DecodeError, InvalidField
from devhost.amqp.fields import BINARY, STRING, SYMBOL, SYMBOLS, UBYTE, encode_composite, from_list, wire
from devhost.amqp.types import Described

OK, AUTH_FAILED = 0, 1


@dataclass(frozen=True, slots=True)
class Mechanisms:
    """What the server offers."""

    names: tuple[str, ...] = wire(SYMBOLS)


@dataclass(frozen=True, slots=True)
class Init:
    """What the client picked."""

    mechanism: str = wire(SYMBOL)
    initial_response: bytes | None = wire(BINARY, None)
    hostname: str | None = wire(STRING, None)


@dataclass(frozen=True, slots=True)
class Challenge:
    """Unused by ANONYMOUS; kept so that a stray one is named in the error."""

    challenge: bytes = wire(BINARY)


@dataclass(frozen=True, slots=True)
class Response:
    """The client's answer to a challenge."""

    response: bytes = wire(BINARY)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether the client is let in."""

    code: int = wire(UBYTE)
    additional_data: bytes | None = wire(BINARY, None)


SaslBody = Mechanisms | Init | Challenge | Response | Outcome

_CODES: dict[type[SaslBody], int] = {
    Mechanisms: 0x40,
    Init: 0x41,
    Challenge: 0x42,
    Response: 0x43,
    Outcome: 0x44,
}
_CLASSES: dict[object, type[SaslBody]] = {code: cls for cls, code in _CODES.items()}


def encode_sasl(body: SaslBody) -> bytes:
    """The body of a SASL frame."""
    return encode_composite(_CODES[type(body)], body)


def decode_sasl(body: bytes) -> SaslBody:
    """What a SASL frame's body holds. Raises `DecodeError` or `InvalidField`."""
    value = decode_all(body)
    if not isinstance(value, Described) or not isinstance(value.descriptor, int):
        raise DecodeError("a SASL frame must hold a described value")
    cls = _CLASSES.get(value.descriptor)
    if cls is None:
        raise InvalidField(f"{value.descriptor!r} is not a SASL frame")
    result: SaslBody = from_list(cls, value.value)
    return result
