"""Errors, delivery states and termini (OASIS AMQP 1.0 part 2, section 2.8.14; part 3, sections 3.4, 3.5)."""
# ruff: noqa: RUF009 - wire() is dataclasses.field with the wire type attached

from __future__ import annotations

from dataclasses import dataclass

from devhost.amqp.errors import InvalidField
from devhost.amqp.fields import ANY, BOOLEAN, COMPOSITE, MAP, STRING, SYMBOL, UINT, from_list, to_list, wire
from devhost.amqp.types import Described, ULong

_ERROR = 0x1D
_SOURCE, _TARGET = 0x28, 0x29


@dataclass(frozen=True, slots=True)
class Error:
    """Why something failed."""

    condition: str = wire(SYMBOL)
    description: str | None = wire(STRING, None)
    info: dict[object, object] | None = wire(MAP, None)


@dataclass(frozen=True, slots=True)
class Received:
    section_number: int = wire(UINT)
    section_offset: int = wire(ANY)


@dataclass(frozen=True, slots=True)
class Accepted:
    """The message was processed."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The message is unacceptable; `error` is an encoded `Error` or null."""

    error: Described | None = wire(COMPOSITE, None)


@dataclass(frozen=True, slots=True)
class Released:
    """The message was not, and will not be, processed here."""


@dataclass(frozen=True, slots=True)
class Modified:
    """The message was not processed, and is to be changed before it is delivered again."""

    delivery_failed: bool = wire(BOOLEAN, False)
    undeliverable_here: bool = wire(BOOLEAN, False)
    message_annotations: dict[object, object] | None = wire(MAP, None)


DeliveryState = Received | Accepted | Rejected | Released | Modified

_CODES: dict[type[DeliveryState], int] = {
    Received: 0x23,
    Accepted: 0x24,
    Rejected: 0x25,
    Released: 0x26,
    Modified: 0x27,
}
_CLASSES: dict[object, type[DeliveryState]] = {code: cls for cls, code in _CODES.items()}
_CLASSES.update({f"amqp:{cls.__name__.lower()}:list": cls for cls in _CODES})


def describe_state(state: DeliveryState) -> Described:
    """A delivery state as a value for the wire."""
    return Described(ULong(_CODES[type(state)]), to_list(state))


def read_state(value: object) -> DeliveryState | None:
    """The delivery state in a decoded value; None for null. Raises `InvalidField`."""
    if value is None:
        return None
    if not isinstance(value, Described) or not isinstance(value.descriptor, int | str):
        raise InvalidField("a delivery state must be a described type")
    cls = _CLASSES.get(value.descriptor)
    if cls is None:
        raise InvalidField(f"{value.descriptor!r} is not a delivery state")
    state: DeliveryState = from_list(cls, value.value)
    return state


def describe_error(error: Error) -> Described:
    """An error as a value for the wire."""
    return Described(ULong(_ERROR), to_list(error))


def read_error(value: Described | None) -> Error | None:
    """The error in a decoded value; None for null. Raises `InvalidField`."""
    if value is None:
        return None
    if value.descriptor not in (_ERROR, "amqp:error:list"):
        raise InvalidField("an error must be described as amqp:error:list")
    return from_list(Error, value.value)


def terminus_address(terminus: Described | None) -> str | None:
    """The address in a source or target; None if there is none."""
    if terminus is None or not isinstance(terminus.value, list) or not terminus.value:
        return None
    address = terminus.value[0]
    return address if isinstance(address, str) else None


def source_filter(source: Described | None) -> dict[object, object]:
    """The filter set of a source (its eighth field)."""
    if source is None or not isinstance(source.value, list) or len(source.value) < 8:
        return {}
    found = source.value[7]
    return found if isinstance(found, dict) else {}
