"""Protocol headers and frames in a byte stream (OASIS AMQP 1.0 part 2, sections 2.2 and 2.3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from devhost.amqp.errors import FramingError

AMQP_FRAME, SASL_FRAME = 0, 1
AMQP_HEADER = b"AMQP\x00\x01\x00\x00"
SASL_HEADER = b"AMQP\x03\x01\x00\x00"
MIN_MAX_FRAME_SIZE = 512
FRAME_HEADER_SIZE = 8
_SIZE = 8


@dataclass(frozen=True, slots=True)
class Header:
    """A protocol header: which layer the peer wants to speak next."""

    octets: bytes


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame; an empty body is a heartbeat."""

    kind: int
    channel: int
    body: bytes


def encode_frame(body: bytes, channel: int = 0, kind: int = AMQP_FRAME) -> bytes:
    """A whole frame; the caller keeps it within the peer's maximum frame size."""
    size = len(body) + FRAME_HEADER_SIZE
    return size.to_bytes(4, "big") + bytes((2, kind)) + channel.to_bytes(2, "big") + body


class FrameReader:
    """Cuts what arrives into headers and frames, holding at most one incomplete frame."""

    def __init__(self, max_frame_size: int) -> None:
        self._max_frame_size = max_frame_size
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Header | Frame]:
        """Everything complete after `data` arrived. Raises `FramingError`, after which the stream is lost."""
        self._buffer += data
        position = 0
        try:
            while len(self._buffer) - position >= _SIZE:
                item, size = self._next(position)
                if item is None:
                    return
                position += size
                yield item
        finally:
            del self._buffer[:position]

    def _next(self, position: int) -> tuple[Header | Frame | None, int]:
        start = bytes(self._buffer[position : position + _SIZE])
        if start.startswith(b"AMQP"):
            return Header(start), _SIZE
        size, offset, kind = int.from_bytes(start[:4], "big"), start[4] * 4, start[5]
        if size < _SIZE:
            raise FramingError(f"a frame of {size} bytes is shorter than its own header")
        if size > self._max_frame_size:
            raise FramingError(f"a frame of {size} bytes exceeds the {self._max_frame_size} agreed")
        if offset < _SIZE or offset > size:
            raise FramingError(f"a frame of {size} bytes cannot start its body at byte {offset}")
        if kind not in (AMQP_FRAME, SASL_FRAME):
            raise FramingError(f"frame type {kind} is neither AMQP nor SASL")
        if len(self._buffer) - position < size:
            return None, 0
        body = bytes(self._buffer[position + offset : position + size])
        return Frame(kind, int.from_bytes(start[6:8], "big"), body), size
