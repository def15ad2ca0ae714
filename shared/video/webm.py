"""What a WebM file says of itself (EBML, RFC 8794; Matroska, RFC 9559). Pure; for hostile bytes."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

MAX_ELEMENTS = 20_000
_MAGIC = b"\x1a\x45\xdf\xa3"
_DOC_TYPE, _SEGMENT, _INFO, _TRACKS, _CLUSTER = 0x4282, 0x18538067, 0x1549A966, 0x1654AE6B, 0x1F43B675
_TIMESTAMP_SCALE, _DURATION, _TRACK_ENTRY, _TRACK_TYPE = 0x2AD7B1, 0x4489, 0xAE, 0x83
_PICTURE = 1
_NANOSECONDS = 1_000_000_000
_DEFAULT_SCALE = 1_000_000
_FLOATS = {4: ">f", 8: ">d"}


class WebmTruncated(Exception):
    """An element reaches beyond the end of the file, or there is no content."""


class WebmDamaged(Exception):
    """The elements cannot be read, or there are too many."""


@dataclass(frozen=True, slots=True)
class Webm:
    """`seconds` is None where the file does not tell."""

    seconds: float | None
    has_picture: bool


@dataclass(frozen=True, slots=True)
class _Element:
    kind: int
    start: int  # of its content
    end: int
    open_ended: bool


def looks_like_webm(content: bytes) -> bool:
    """Whether it begins with an EBML header of the document type `webm`."""
    if not content.startswith(_MAGIC):
        return False
    try:
        header = _element(content, 0, len(content))
        names = [
            content[part.start : part.end].rstrip(b"\0")
            for part in _within(content, header.start, header.end)
            if part.kind == _DOC_TYPE
        ]
    except (WebmTruncated, WebmDamaged):
        return False
    return names == [b"webm"]


def read_webm(content: bytes) -> Webm:
    """Raises WebmTruncated or WebmDamaged."""
    header = _element(content, 0, len(content))
    top = _within(content, header.end, len(content))
    segment = next((element for element in top if element.kind == _SEGMENT), None)
    if segment is None:
        raise WebmTruncated
    parts: dict[int, _Element] = {}
    for part in _within(content, segment.start, segment.end):
        parts.setdefault(part.kind, part)
    if _CLUSTER not in parts:
        raise WebmTruncated
    if _INFO not in parts or _TRACKS not in parts:
        raise WebmDamaged
    return Webm(_seconds(content, parts[_INFO]), _has_picture(content, parts[_TRACKS]))


def _within(content: bytes, at: int, end: int) -> Iterator[_Element]:
    """The elements from `at` to `end`; one of unknown length (a live stream's) is the last."""
    for _ in range(MAX_ELEMENTS):
        if at >= end:
            return
        element = _element(content, at, end)
        yield element
        if element.open_ended and element.kind == _CLUSTER:
            return
        at = element.end
    raise WebmDamaged


def _element(content: bytes, at: int, end: int) -> _Element:
    kind, at, _ = _number(content, at, end, longest=4, keep_marker=True)
    size, at, unknown = _number(content, at, end, longest=8, keep_marker=False)
    if unknown:
        return _Element(kind, at, end, open_ended=True)
    if at + size > end:
        raise WebmTruncated
    return _Element(kind, at, at + size, open_ended=False)


def _number(content: bytes, at: int, end: int, *, longest: int, keep_marker: bool) -> tuple[int, int, bool]:
    """A variable-size integer, where it ends, and whether all its bits are set (an unknown size)."""
    if at >= end:
        raise WebmTruncated
    length = 9 - content[at].bit_length()
    if length > longest:
        raise WebmDamaged
    if at + length > end:
        raise WebmTruncated
    value = int.from_bytes(content[at : at + length], "big")
    mask = (1 << (7 * length)) - 1
    return (value if keep_marker else value & mask), at + length, value & mask == mask


def _seconds(content: bytes, info: _Element) -> float | None:
    scale, duration = _DEFAULT_SCALE, None
    for part in _within(content, info.start, info.end):
        raw = content[part.start : part.end]
        if part.kind == _TIMESTAMP_SCALE:
            scale = int.from_bytes(raw[:8], "big")
        elif part.kind == _DURATION and len(raw) in _FLOATS:
            duration = struct.unpack(_FLOATS[len(raw)], raw)[0]
    return None if duration is None else float(duration) * scale / _NANOSECONDS


def _has_picture(content: bytes, tracks: _Element) -> bool:
    for track in _within(content, tracks.start, tracks.end):
        if track.kind != _TRACK_ENTRY:
            continue
        for part in _within(content, track.start, track.end):
            if (
                part.kind == _TRACK_TYPE
                and int.from_bytes(content[part.start : part.end][:8], "big") == _PICTURE
            ):
                return True
    return False
