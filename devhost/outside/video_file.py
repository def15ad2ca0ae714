"""A small MP4 with a real picture and a duration (ISO/IEC 14496-12 and -15)."""

from functools import lru_cache
from struct import pack

from devhost.outside import h264

_TIMESCALE = 1_000
_MATRIX = pack(">9i", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
_UNDETERMINED_LANGUAGE = 0x55C4


@lru_cache(maxsize=32)
def mp4(width: int, height: int, seconds: int) -> bytes:
    """A grey picture for so many seconds, at one frame a second."""
    stream = h264.still(width, height, seconds)
    samples = [pack(">I", len(frame)) + frame for frame in stream.frames]
    head = _box("ftyp", b"isom" + pack(">I", 512), b"isomiso2avc1mp41")
    offset = len(head) + len(_movie(stream, samples, width, height, 0)) + 8
    return head + _movie(stream, samples, width, height, offset) + _box("mdat", *samples)


def _movie(stream: h264.Stream, samples: list[bytes], width: int, height: int, offset: int) -> bytes:
    duration = len(samples) * _TIMESCALE
    header = pack(">4I", 0, 0, _TIMESCALE, duration) + pack(">IH", 0x10000, 0x100) + bytes(10)
    return _box(
        "moov",
        _full_box("mvhd", 0, header, _MATRIX, bytes(24), pack(">I", 2)),
        _box("trak", _track_header(duration, width, height), _media(stream, samples, width, height, offset)),
    )


def _track_header(duration: int, width: int, height: int) -> bytes:
    enabled_and_in_the_movie = 3
    return _full_box(
        "tkhd",
        enabled_and_in_the_movie,
        pack(">5I", 0, 0, 1, 0, duration),
        bytes(16),
        _MATRIX,
        pack(">2I", width << 16, height << 16),
    )


def _media(stream: h264.Stream, samples: list[bytes], width: int, height: int, offset: int) -> bytes:
    times = pack(">4I", 0, 0, _TIMESCALE, len(samples) * _TIMESCALE)
    here = _full_box("dref", 0, pack(">I", 1), _full_box("url ", 1))
    return _box(
        "mdia",
        _full_box("mdhd", 0, times, pack(">2H", _UNDETERMINED_LANGUAGE, 0)),
        _full_box("hdlr", 0, bytes(4), b"vide", bytes(12), b"Video\0"),
        _box(
            "minf",
            _full_box("vmhd", 1, bytes(8)),
            _box("dinf", here),
            _sample_table(stream, samples, width, height, offset),
        ),
    )


def _sample_table(stream: h264.Stream, samples: list[bytes], width: int, height: int, offset: int) -> bytes:
    count = len(samples)
    sizes = pack(f">{count}I", *map(len, samples))
    return _box(
        "stbl",
        _full_box("stsd", 0, pack(">I", 1), _sample_entry(stream, width, height)),
        _full_box("stts", 0, pack(">3I", 1, count, _TIMESCALE)),
        _full_box("stss", 0, pack(">2I", 1, 1)),
        _full_box("stsc", 0, pack(">4I", 1, 1, count, 1)),
        _full_box("stsz", 0, pack(">2I", 0, count), sizes),
        _full_box("stco", 0, pack(">2I", 1, offset)),
    )


def _sample_entry(stream: h264.Stream, width: int, height: int) -> bytes:
    configuration = _box(
        "avcC",
        bytes([1, h264.PROFILE, h264.COMPATIBILITY, h264.LEVEL, 0xFF, 0xE1]),
        pack(">H", len(stream.sequence)),
        stream.sequence,
        b"\x01" + pack(">H", len(stream.picture)),
        stream.picture,
    )
    return _box(
        "avc1",
        bytes(6) + pack(">H", 1) + bytes(16),
        pack(">2H2I", width, height, 0x480000, 0x480000) + bytes(4),
        pack(">H", 1) + bytes(32) + pack(">Hh", 24, -1),
        configuration,
    )


def _box(name: str, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return pack(">I", 8 + len(content)) + name.encode() + content


def _full_box(name: str, flags: int, *parts: bytes) -> bytes:
    return _box(name, pack(">I", flags), *parts)
