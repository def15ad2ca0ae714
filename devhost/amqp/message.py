"""Messages as raw sections: what is not changed stays byte for byte as the sender wrote it.

Sections: OASIS AMQP 1.0 part 3, section 3.2.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from devhost.amqp.decoder import decode, decode_all
from devhost.amqp.encoder import compound_bytes, encode
from devhost.amqp.errors import DecodeError
from devhost.amqp.slices import elements, skip
from devhost.amqp.types import Described, ULong


class Section(IntEnum):
    """The descriptors of message sections, in the order the standard gives them."""

    HEADER = 0x70
    DELIVERY_ANNOTATIONS = 0x71
    MESSAGE_ANNOTATIONS = 0x72
    PROPERTIES = 0x73
    APPLICATION_PROPERTIES = 0x74
    DATA = 0x75
    SEQUENCE = 0x76
    VALUE = 0x77
    FOOTER = 0x78


_BODY = (Section.DATA, Section.SEQUENCE, Section.VALUE)
_NAMES = {f"amqp:{name}": section for name, section in (
    ("header:list", Section.HEADER),
    ("delivery-annotations:map", Section.DELIVERY_ANNOTATIONS),
    ("message-annotations:map", Section.MESSAGE_ANNOTATIONS),
    ("properties:list", Section.PROPERTIES),
    ("application-properties:map", Section.APPLICATION_PROPERTIES),
    ("data:binary", Section.DATA),
    ("amqp-sequence:list", Section.SEQUENCE),
    ("amqp-value:*", Section.VALUE),
    ("footer:map", Section.FOOTER),
)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RawMessage:
    """An encoded message taken apart.

    `values` holds the raw value of each section that occurs at most once; `body` the body's sections as they
    stood, descriptors included.
    """

    values: Mapping[Section, bytes]
    body: tuple[tuple[Section, bytes], ...]

    def map(self, section: Section) -> dict[object, object]:
        """A map section decoded; empty if absent. Raises `DecodeError`."""
        found = self._decoded(section)
        if found is None:
            return {}
        if not isinstance(found, dict):
            raise DecodeError(f"the message's {_label(section)} must be a map")
        return found

    def field(self, section: Section, index: int) -> object:
        """One field of the header or the properties; None if absent. Raises `DecodeError`."""
        raw = self.values.get(section)
        if raw is None or raw == b"\x40":
            return None
        _, parts = elements(raw, 0)
        return decode(parts[index])[0] if index < len(parts) else None

    def value(self) -> object:
        """The body if it is one amqp-value section. Raises `DecodeError`."""
        if len(self.body) != 1 or self.body[0][0] is not Section.VALUE:
            raise DecodeError("the body must be one amqp-value section")
        described = decode(self.body[0][1])[0]
        return described.value

    def data(self) -> list[bytes]:
        """The content of each data section. Raises `DecodeError` if there is another kind of body."""
        contents = []
        for section, raw in self.body:
            content = decode(raw)[0].value
            if section is not Section.DATA or not isinstance(content, bytes):
                raise DecodeError("the body must consist of data sections")
            contents.append(content)
        return contents

    def check(self) -> None:
        """Raises `DecodeError` unless every list and map section is one, and readable throughout.

        After this `merge_map` and `replace_field` cannot fail on the message.
        """
        for section, raw in self.values.items():
            wanted = list if section in (Section.HEADER, Section.PROPERTIES) else dict
            value = decode_all(raw)
            if value is not None and not isinstance(value, wanted):
                raise DecodeError(f"the message's {_label(section)} must be a {wanted.__name__}")

    def _decoded(self, section: Section) -> object:
        raw = self.values.get(section)
        return None if raw is None else decode(raw)[0]


def split(message: bytes) -> RawMessage:
    """The sections of an encoded message, in whatever order they came. Raises `DecodeError`."""
    values: dict[Section, bytes] = {}
    body = []
    position = 0
    while position < len(message):
        section, start = _section(message, position)
        end = skip(message, start)
        if section in _BODY:
            body.append((section, message[position:end]))
        elif section in values:
            raise DecodeError(f"the message has two {_label(section)} sections")
        else:
            values[section] = message[start:end]
        position = end
    return RawMessage(values, tuple(body))


def join(message: RawMessage) -> bytes:
    """The message with its sections in the standard's order."""
    parts = [_raw(section, message.values[section]) for section in Section if section in message.values]
    footer = [parts.pop()] if Section.FOOTER in message.values else []
    return b"".join([*parts, *(raw for _, raw in message.body), *footer])


def merge_map(raw: bytes | None, drop: Collection[str], add: Mapping[object, object]) -> bytes:
    """A raw map without the entries named in `drop` or `add`, those of `add` appended, the rest untouched.

    Raises `DecodeError` if `raw` is not a map.
    """
    kept: list[bytes] = []
    if raw is not None and raw != b"\x40":
        constructor, parts = elements(raw, 0)
        if constructor not in (0xC1, 0xD1) or len(parts) % 2:
            raise DecodeError("an annotations or properties section must be a map")
        for key, value in zip(parts[::2], parts[1::2], strict=True):
            name = decode(key)[0]
            if name not in drop and name not in add:
                kept += (key, value)
    kept += [encode(part) for entry in add.items() for part in entry]
    return compound_bytes(0xC1, b"".join(kept), len(kept))


def replace_field(raw: bytes | None, index: int, value: object) -> bytes:
    """A raw list with one field set, the rest untouched. Raises `DecodeError` if `raw` is not a list."""
    parts: list[bytes] = []
    if raw is not None and raw != b"\x40":
        constructor, parts = elements(raw, 0)
        if constructor in (0xC1, 0xD1):
            raise DecodeError("a header or properties section must be a list")
    parts += [b"\x40"] * (index + 1 - len(parts))
    parts[index] = encode(value)
    return compound_bytes(0xC0, b"".join(parts), len(parts))


def build(
    *,
    properties: Sequence[object] = (),
    application_properties: Mapping[object, object] | None = None,
    value: object = None,
) -> bytes:
    """A message of the broker's own: properties in wire order, application-properties, one amqp-value."""
    sections: list[tuple[Section, object]] = []
    if properties:
        sections.append((Section.PROPERTIES, list(properties)))
    if application_properties is not None:
        sections.append((Section.APPLICATION_PROPERTIES, dict(application_properties)))
    sections.append((Section.VALUE, value))
    return b"".join(encode(Described(ULong(section), content)) for section, content in sections)


def _section(message: bytes, position: int) -> tuple[Section, int]:
    if message[position] != 0:
        raise DecodeError("a message section must be a described value")
    descriptor, start = decode(message, position + 1)
    try:
        section = _NAMES[descriptor] if isinstance(descriptor, str) else Section(descriptor)
    except (KeyError, ValueError, TypeError):
        raise DecodeError("the message has a section that AMQP 1.0 does not know") from None
    return section, start


def _raw(section: Section, value: bytes) -> bytes:
    return bytes((0x00, 0x53, section)) + value


def _label(section: Section) -> str:
    return section.name.lower().replace("_", "-")
