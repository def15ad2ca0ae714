"""What is taken for the video that was asked for, and why anything else is not."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devhost.outside.video_file import mp4 as outside_mp4
from shared.video.errors import Unfit, VideoUnfit
from shared.video.provider import VideoFile
from shared.video.validation import FitVideo, VideoFormat, check_video
from tests.support.videos import box, element, fragmented_mp4, movie_header, mp4, track, webm

MIB = 1024 * 1024


def check(
    content: bytes, content_type: str | None = None, *, seconds: float = 4.0, limit: int = MIB
) -> FitVideo:
    return check_video(VideoFile(content, content_type), seconds=seconds, max_bytes=limit)


def unfit(content: bytes, content_type: str | None = None, **more: float) -> Unfit:
    with pytest.raises(VideoUnfit) as caught:
        check(content, content_type, **more)  # type: ignore[arg-type]  # one helper for both limits
    return caught.value.reason


@pytest.mark.parametrize(
    "content",
    [
        mp4(),
        mp4(version=1),
        mp4(media_first=True),
        mp4(scale=90_000),
        mp4(brands=(b"qt  ", b"mp42")),
        fragmented_mp4(4.0),
        outside_mp4(720, 1280, 4),
    ],
)
def test_an_mp4_of_the_length_asked_for_is_taken(content: bytes) -> None:
    assert check(content, "video/mp4") == FitVideo(VideoFormat.MP4, 4.0)


@pytest.mark.parametrize("content", [webm(), webm(wide=False), webm(live=True)])
def test_a_webm_of_the_length_asked_for_is_taken(content: bytes) -> None:
    assert check(content, "video/webm; codecs=vp9") == FitVideo(VideoFormat.WEBM, 4.0)


@pytest.mark.parametrize(
    "content", [mp4(None), mp4(None, version=1), mp4(scale=0), fragmented_mp4(None), webm(None)]
)
def test_a_video_that_does_not_tell_its_length_is_taken(content: bytes) -> None:
    assert check(content).seconds is None


@pytest.mark.parametrize(
    "declared", [None, "", "application/octet-stream", "binary/octet-stream", "VIDEO/MP4"]
)
def test_the_bytes_decide_where_the_sender_says_nothing(declared: str | None) -> None:
    assert check(mp4(), declared).format is VideoFormat.MP4


@pytest.mark.parametrize(
    ("content", "declared", "reason"),
    [
        (b"", "video/mp4", Unfit.EMPTY),
        (b"<!DOCTYPE html><p>Try later", "video/mp4", Unfit.WEB_PAGE),
        (b"  \n<html>", None, Unfit.WEB_PAGE),
        (b'{"error": "x"}', "application/octet-stream", Unfit.WEB_PAGE),
        (b"sorry", "text/html; charset=utf-8", Unfit.WEB_PAGE),
        (b"sorry", "text/plain", Unfit.OTHER_TYPE),
        (b"\x89PNG\r\n\x1a\n", "image/png", Unfit.OTHER_TYPE),
        (b"\x00" * 4096, "video/mp4", Unfit.OTHER_FORMAT),
        (b"RIFF\x00\x00\x00\x00AVI LIST", "video/x-msvideo", Unfit.OTHER_FORMAT),
        (box(b"ftyp", b"avif", bytes(4), b"mif1", b"iso8"), "video/mp4", Unfit.OTHER_FORMAT),
        (box(b"ftyp", b"M4A ", bytes(4), b"isom"), "video/mp4", Unfit.OTHER_FORMAT),
        (box(b"ftyp", b"qt  ", bytes(4)), "video/mp4", Unfit.OTHER_FORMAT),
        (webm(doc_type=b"matroska"), "video/webm", Unfit.OTHER_FORMAT),
        (mp4(), "video/webm", Unfit.CONTRADICTION),
        (mp4(), "text/html", Unfit.CONTRADICTION),
        (webm(), "video/mp4", Unfit.CONTRADICTION),
        (mp4(handler=b"soun"), "video/mp4", Unfit.NO_PICTURE),
        (webm(track_type=2), "video/webm", Unfit.NO_PICTURE),
        (mp4(0), "video/mp4", Unfit.OTHER_LENGTH),
        (mp4(1.9), "video/mp4", Unfit.OTHER_LENGTH),
        (mp4(9.1), "video/mp4", Unfit.OTHER_LENGTH),
        (webm(float("nan")), "video/webm", Unfit.OTHER_LENGTH),
        (webm(float("inf")), "video/webm", Unfit.OTHER_LENGTH),
        (webm(-4.0), "video/webm", Unfit.OTHER_LENGTH),
    ],
)
def test_anything_else_is_unfit_for_its_own_reason(
    content: bytes, declared: str | None, reason: Unfit
) -> None:
    assert unfit(content, declared) is reason


def test_a_file_over_the_limit_is_too_large() -> None:
    assert unfit(mp4(), limit=len(mp4()) - 1) is Unfit.TOO_LARGE
    assert check(mp4(), limit=len(mp4())).format is VideoFormat.MP4


@pytest.mark.parametrize(
    "content", [mp4(), mp4(version=1), mp4(media_first=True), webm(), fragmented_mp4(4.0)]
)
def test_a_file_whose_end_is_missing_is_never_taken(content: bytes) -> None:
    for end in range(1, len(content)):
        assert unfit(content[:end]) in {Unfit.TRUNCATED, Unfit.OTHER_FORMAT, Unfit.DAMAGED}, end


@pytest.mark.parametrize("size", [0, 1])
def test_a_box_may_give_its_size_in_the_two_other_ways(size: int) -> None:
    """0: to the end of the file; 1: in the 64 bits that follow."""
    media = b"\x00\x01\x02\x03" * 64
    header = (
        b"\x00\x00\x00\x00mdat"
        if size == 0
        else b"\x00\x00\x00\x01mdat" + (16 + len(media)).to_bytes(8, "big")
    )
    content = mp4()[: -8 - len(media)] + header + media
    assert check(content).seconds == 4.0


FILE_TYPE = mp4()[: int.from_bytes(mp4()[:4], "big")]


@pytest.mark.parametrize(
    "content",
    [
        FILE_TYPE + b"\x00\x00\x00\x04" + mp4()[len(FILE_TYPE) + 4 :],  # a box smaller than its header
        FILE_TYPE + box(b"moov", track()) + box(b"mdat"),  # no movie header
        FILE_TYPE + box(b"moov", box(b"mvhd", bytes(8)), track()) + box(b"mdat"),  # a short one
        mp4() + box(b"free") * 20_001,
        webm()[:37] + element(0x18538067, element(0xEC, b"") * 20_001),
        element(0x1A45DFA3, element(0x4282, b"webm")) + element(0x18538067, element(0x1F43B675, b"")),
    ],
)
def test_a_container_that_cannot_be_read_is_damaged(content: bytes) -> None:
    assert unfit(content) is Unfit.DAMAGED


def test_a_movie_header_of_fragments_is_read_with_its_own_width() -> None:
    wide = box(b"mehd", b"\x01\x00\x00\x00" + (2400).to_bytes(8, "big"))
    movie = box(b"moov", movie_header(0), track(), box(b"mvex", wide))
    content = box(b"ftyp", b"iso6", bytes(4)) + movie + box(b"moof", bytes(8)) + box(b"mdat", bytes(8))
    assert check(content).seconds == 4.0


MADE = [mp4(), mp4(version=1), fragmented_mp4(4.0), webm(), webm(live=True)]
CHANGES = st.lists(st.tuples(st.integers(0, 700), st.binary(min_size=1, max_size=9)), max_size=6)
TYPES = st.sampled_from([None, "video/mp4", "video/webm", "text/html", "x"])


@given(st.sampled_from(MADE), CHANGES, TYPES)
def test_a_damaged_file_is_taken_or_unfit_and_nothing_else(
    content: bytes, changes: list[tuple[int, bytes]], declared: str | None
) -> None:
    damaged = bytearray(content)
    for at, raw in changes:
        damaged[at : at + len(raw)] = raw
    taken_or_unfit(bytes(damaged), declared)


@given(
    st.sampled_from([b"", b"\x00\x00\x00\x18ftypisom", b"\x1a\x45\xdf\xa3", webm()[:60], mp4()[:40]]),
    st.binary(max_size=200),
    TYPES,
)
def test_any_bytes_are_taken_or_unfit_and_nothing_else(
    start: bytes, rest: bytes, declared: str | None
) -> None:
    taken_or_unfit(start + rest, declared)


def taken_or_unfit(content: bytes, declared: str | None) -> None:
    try:
        check(content, declared)
    except VideoUnfit as error:
        assert str(error).startswith("The provider's file is unfit: ")  # noqa: PT017  either way is right


def test_a_text_says_what_is_wrong_and_quotes_nothing() -> None:
    file = VideoFile(mp4(9.1), "video/mp4")
    with pytest.raises(VideoUnfit, match=r"lasts 9\.1 s, and 4 s were asked for"):
        check_video(file, seconds=4, max_bytes=MIB)
    with pytest.raises(VideoUnfit) as caught:
        check_video(replace(file, content_type="text/marked-word"), seconds=9, max_bytes=MIB)
    assert "marked-word" not in str(caught.value)
