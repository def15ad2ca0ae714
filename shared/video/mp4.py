"""What an MP4 file says of itself, as far as its boxes tell (ISO/IEC 14496-12). Pure; for hostile bytes.

https://www.w3.org/TR/mse-byte-stream-format-isobmff/ describes the same boxes in short.
"""

from collections.abc import Iterator
from dataclasses import dataclass

MAX_BOXES = 20_000
_HEADER, _LARGE_HEADER = 8, 16
_CONTAINERS = frozenset({b"moov", b"trak", b"mdia", b"mvex"})
_MOVIE_BRANDS = frozenset(
    {
        b"isom",
        b"mp41",
        b"mp42",
        b"avc1",
        b"M4V ",
        b"M4VH",
        b"M4VP",
        b"MSNV",
        b"dash",
        b"f4v ",
        b"cmfc",
        b"cmf2",
    }
    | {b"iso%x" % number for number in range(2, 13)}
)
_OTHER_MEDIA = frozenset(
    {
        b"M4A ",
        b"M4B ",
        b"F4A ",
        b"F4B ",
        b"avif",
        b"avis",
        b"heic",
        b"heix",
        b"mif1",
        b"msf1",
        b"crx ",
        b"jp2 ",
    }
)
"""Main brands of sound and pictures, which may name a movie's brand among the compatible ones."""


class Mp4Truncated(Exception):
    """A box reaches beyond the end of the file, or the movie's or the media's own box is missing."""


class Mp4Damaged(Exception):
    """The boxes contradict each other, or there are too many."""


@dataclass(frozen=True, slots=True)
class Mp4:
    """`seconds` is None where the file does not tell (a live or fragmented one)."""

    seconds: float | None
    has_picture: bool


@dataclass(frozen=True, slots=True)
class _Box:
    kind: bytes
    start: int  # of its content
    end: int


def looks_like_mp4(content: bytes) -> bool:
    """Whether it begins with a file type box that names a movie's brand."""
    if content[4:8] != b"ftyp" or len(content) < _LARGE_HEADER:
        return False
    end = min(int.from_bytes(content[:4], "big"), len(content), 4096)
    brands = [content[8:12], *(content[at : at + 4] for at in range(16, end, 4))]
    return brands[0] not in _OTHER_MEDIA and any(brand in _MOVIE_BRANDS for brand in brands)


def read_mp4(content: bytes) -> Mp4:
    """Raises Mp4Truncated or Mp4Damaged."""
    boxes = _Walk(content).all()
    kinds = {box.kind for box in boxes}
    if not {b"moov", b"mdat"} <= kinds:
        raise Mp4Truncated
    header = next((box for box in boxes if box.kind == b"mvhd"), None)
    if header is None:
        raise Mp4Damaged
    handlers = {content[box.start + 8 : box.start + 12] for box in boxes if box.kind == b"hdlr"}
    return Mp4(seconds=_seconds(content, header, boxes), has_picture=b"vide" in handlers)


class _Walk:
    """The boxes of a file, those of `_CONTAINERS` opened; bounded in number, and so in time."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._left = MAX_BOXES

    def all(self) -> list[_Box]:
        found: list[_Box] = []
        spans = [(0, len(self._content))]
        while spans:
            for box in self._within(*spans.pop()):
                found.append(box)
                if box.kind in _CONTAINERS:
                    spans.append((box.start, box.end))
        return found

    def _within(self, at: int, end: int) -> Iterator[_Box]:
        while at < end:
            self._left -= 1
            if self._left < 0:
                raise Mp4Damaged
            box = self._box(at, end)
            yield box
            at = box.end

    def _box(self, at: int, end: int) -> _Box:
        if end - at < _HEADER:
            raise Mp4Truncated
        size, header = int.from_bytes(self._content[at : at + 4], "big"), _HEADER
        if size == 1:
            size, header = int.from_bytes(self._content[at + 8 : at + 16], "big"), _LARGE_HEADER
        elif size == 0:  # to the end
            size = end - at
        if size < header:
            raise Mp4Damaged
        if at + size > end:
            raise Mp4Truncated
        return _Box(self._content[at + 4 : at + 8], at + header, at + size)


def _seconds(content: bytes, header: _Box, boxes: list[_Box]) -> float | None:
    """The movie header's duration, or that of the fragments' header."""
    version = content[header.start : header.start + 1]
    scale_at, wide = (header.start + 20, True) if version == b"\x01" else (header.start + 12, False)
    duration_at = scale_at + 4
    if duration_at + (8 if wide else 4) > header.end:
        raise Mp4Damaged
    scale = int.from_bytes(content[scale_at:duration_at], "big")
    duration = _known(content, duration_at, wide=wide)
    fragments = next((box for box in boxes if box.kind == b"mehd"), None)
    if not duration and fragments is not None:
        duration = _known(
            content, fragments.start + 4, wide=content[fragments.start : fragments.start + 1] == b"\x01"
        )
    fragmented = any(box.kind in {b"mvex", b"moof"} for box in boxes)
    if scale == 0 or duration is None or (duration == 0 and fragmented):
        return None
    return duration / scale


def _known(content: bytes, at: int, *, wide: bool) -> int | None:
    """A duration; all bits set is none that is known."""
    raw = content[at : at + (8 if wide else 4)]
    return None if not raw.strip(b"\xff") else int.from_bytes(raw, "big")
