"""The cutting of a stream into headers and frames."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devhost.amqp.errors import FramingError
from devhost.amqp.framing import AMQP_HEADER, SASL_FRAME, Frame, FrameReader, Header, encode_frame

frames = st.builds(Frame, st.sampled_from([0, 1]), st.integers(0, 0xFFFF), st.binary(max_size=100))


@given(st.lists(frames, max_size=8), st.lists(st.integers(0, 900), max_size=10))
def test_frames_are_the_same_however_the_stream_is_cut(sent: list[Frame], cuts: list[int]) -> None:
    stream = AMQP_HEADER + b"".join(encode_frame(f.body, f.channel, f.kind) for f in sent)
    reader = FrameReader(1024)
    edges = sorted({0, len(stream), *(min(cut, len(stream)) for cut in cuts)})
    got = [item for start, end in pairwise(edges) for item in reader.feed(stream[start:end])]
    assert got == [Header(AMQP_HEADER), *sent]


@given(st.binary(max_size=64))
def test_any_bytes_are_cut_or_refused_with_a_framing_error(data: bytes) -> None:
    reader = FrameReader(512)
    try:
        for item in reader.feed(data):
            assert isinstance(item, Frame | Header)
    except FramingError as error:
        assert str(error)  # noqa: PT017 - both ends are right


@pytest.mark.parametrize(
    ("octets", "sentence"),
    [
        ("00000007 02 00 0000", "shorter than its own header"),
        ("7fffffff 02 00 0000", "exceeds the 512 agreed"),
        ("00000010 01 00 0000", "cannot start its body at byte 4"),
        ("00000008 03 00 0000", "cannot start its body at byte 12"),
        ("00000008 02 05 0000", "neither AMQP nor SASL"),
    ],
)
def test_a_broken_frame_is_refused_before_its_body_is_awaited(octets: str, sentence: str) -> None:
    with pytest.raises(FramingError, match=sentence):
        list(FrameReader(512).feed(bytes.fromhex(octets)))


def test_an_extended_header_is_passed_over() -> None:
    octets = bytes.fromhex("0000000e 03 01 0002 aabbccdd") + b"hi"
    assert list(FrameReader(512).feed(octets)) == [Frame(SASL_FRAME, 2, b"hi")]
