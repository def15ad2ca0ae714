"""Whether a file is the video that was asked for. Pure; whatever the bytes, it raises VideoUnfit only."""

import math
from dataclasses import dataclass
from enum import StrEnum

from shared.video.errors import Unfit, VideoUnfit
from shared.video.mp4 import Mp4Damaged, Mp4Truncated, looks_like_mp4, read_mp4
from shared.video.provider import VideoFile
from shared.video.webm import WebmDamaged, WebmTruncated, looks_like_webm, read_webm

_UNSPECIFIC = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/binary"})
_PAGE = (b"<!doctype", b"<html", b"<?xml", b"<head", b"<body", b"{", b"[")
_SHORTEST, _LONGEST = 0.5, 2.0
"""Of the length that was asked for: providers round to whole frames and may add a tail, not more."""
_SLACK = 1.0  # seconds


class VideoFormat(StrEnum):
    """The formats that are taken, by their media type."""

    MP4 = "video/mp4"
    WEBM = "video/webm"


@dataclass(frozen=True, slots=True)
class FitVideo:
    """A video that was looked at. `seconds` is None where its container does not tell."""

    format: VideoFormat
    seconds: float | None


def check_size(size: int, max_bytes: int) -> None:
    """Raises VideoUnfit for more than `max_bytes`."""
    if size > max_bytes:
        raise VideoUnfit(
            Unfit.TOO_LARGE, f"it has more than {max_bytes:,} bytes. Raise `max_video` or order less."
        )


def check_video(file: VideoFile, *, seconds: float, max_bytes: int) -> FitVideo:
    """What `file` is, if it is a whole video of about `seconds`. Raises VideoUnfit."""
    content = file.content
    if not content:
        raise VideoUnfit(Unfit.EMPTY, "it is empty.")
    check_size(len(content), max_bytes)
    declared = (file.content_type or "").partition(";")[0].strip().lower()
    found = _format(content)
    if found is None:
        raise _not_a_video(content, declared)
    if declared not in _UNSPECIFIC and declared != found.value:
        kind = "a video of another format" if declared.startswith("video/") else "something else"
        raise VideoUnfit(Unfit.CONTRADICTION, f"it is {found.value}, and sent as {kind}.")
    length, has_picture = _looked_into(content, found)
    if not has_picture:
        raise VideoUnfit(Unfit.NO_PICTURE, "it has no picture track.")
    if length is not None and not _is_about(length, seconds):
        raise VideoUnfit(Unfit.OTHER_LENGTH, f"it lasts {length:.1f} s, and {seconds:g} s were asked for.")
    return FitVideo(found, length)


def _format(content: bytes) -> VideoFormat | None:
    if looks_like_mp4(content):
        return VideoFormat.MP4
    return VideoFormat.WEBM if looks_like_webm(content) else None


def _not_a_video(content: bytes, declared: str) -> VideoUnfit:
    if content[:512].lstrip().lower().startswith(_PAGE) or declared == "text/html":
        return VideoUnfit(Unfit.WEB_PAGE, "it is a web page or an error message.")
    if declared not in _UNSPECIFIC and not declared.startswith("video/"):
        return VideoUnfit(Unfit.OTHER_TYPE, "it is not sent as a video.")
    return VideoUnfit(Unfit.OTHER_FORMAT, "it is neither MP4 nor WebM.")


def _looked_into(content: bytes, found: VideoFormat) -> tuple[float | None, bool]:
    try:
        video = read_mp4(content) if found is VideoFormat.MP4 else read_webm(content)
    except (Mp4Truncated, WebmTruncated):
        raise VideoUnfit(Unfit.TRUNCATED, "its end is missing.") from None
    except (Mp4Damaged, WebmDamaged):
        raise VideoUnfit(Unfit.DAMAGED, "its container is damaged.") from None
    return video.seconds, video.has_picture


def _is_about(length: float, seconds: float) -> bool:
    if not math.isfinite(length) or length <= 0:
        return False
    return seconds * _SHORTEST <= length <= seconds * _LONGEST + _SLACK
