"""The MP4 that is served as a video."""

from collections.abc import Iterator
from struct import unpack_from

import pytest

from devhost.outside.h264 import still
from devhost.outside.video_file import mp4

CONTAINERS = (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"dinf")


def boxes(content: bytes, start: int = 0, end: int | None = None) -> Iterator[tuple[bytes, int, int]]:
    """Every box's name, and where its content begins and ends."""
    end = len(content) if end is None else end
    while start < end:
        size, name = unpack_from(">I4s", content, start)
        assert size >= 8
        assert start + size <= end, name
        yield name, start + 8, start + size
        if name in CONTAINERS:
            yield from boxes(content, start + 8, start + size)
        start += size


def box(content: bytes, name: bytes) -> tuple[int, int]:
    found = [(start, end) for other, start, end in boxes(content) if other == name]
    assert len(found) == 1, name
    return found[0]


@pytest.mark.parametrize(("width", "height", "seconds"), [(720, 1280, 4), (1792, 1024, 12)])
def test_its_boxes_tell_duration_size_and_frames(width: int, height: int, seconds: int) -> None:
    content = mp4(width, height, seconds)
    assert content[4:12] == b"ftypisom"
    scale, duration = unpack_from(">2I", content, box(content, b"mvhd")[0] + 12)
    assert duration / scale == seconds
    assert unpack_from(">2I", content, box(content, b"tkhd")[1] - 8) == (width << 16, height << 16)
    assert unpack_from(">2I", content, box(content, b"stsz")[0] + 4) == (0, seconds)
    assert len(content) < 16 * 1024


def test_the_frames_lie_where_the_tables_say() -> None:
    content = mp4(720, 1280, 4)
    sizes = unpack_from(">4I", content, box(content, b"stsz")[0] + 12)
    (offset,) = unpack_from(">I", content, box(content, b"stco")[0] + 8)
    start, end = box(content, b"mdat")
    assert offset == start
    assert offset + sum(sizes) == end
    kinds = []
    for size in sizes:
        assert unpack_from(">I", content, offset) == (size - 4,)
        kinds.append(content[offset + 4])
        offset += size
    assert kinds == [0x65, 0x41, 0x41, 0x41], "a key frame, then frames that depend on it"


def test_a_stream_has_a_byte_a_macroblock_and_no_start_code_within() -> None:
    stream = still(64, 64, 20)
    assert len(stream.frames) == 20
    assert len(stream.frames[0]) < 16 + 16
    for unit in (stream.sequence, stream.picture, *stream.frames):
        assert b"\0\0\0" not in unit
        assert b"\0\0\1" not in unit
