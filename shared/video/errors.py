"""What can go wrong with a generated video, each told apart: only a failed creation may create again.

No text here holds a prompt, a link or a provider's words.
"""

from datetime import timedelta
from enum import StrEnum
from typing import ClassVar

from shared.errors import DeliveryUnfit, PermanentError, TransientError, UnknownTask


class VideoRequestInvalid(PermanentError):
    """The input is not a request for a video. Resubmit with a right one."""

    code: ClassVar[str] = "video_request_invalid"


class VideoNotConfigured(UnknownTask):
    """No video provider is configured. Set VIDEO_BASE_URL or AI_PROVIDER, then resubmit."""

    code: ClassVar[str] = "video_not_configured"


class CreationFailed(TransientError):
    """The provider says that it could not make the video; it may be created again."""

    code: ClassVar[str] = "video_creation_failed"


class ContentRefused(PermanentError):
    """The provider's policy refuses this video. Resubmit with another prompt."""

    code: ClassVar[str] = "video_content_refused"


class VideoNotKnown(TransientError):
    """The provider does not know the video: not yet, or no longer. It is not created again for that."""

    code: ClassVar[str] = "video_not_known"


class LinkBroken(TransientError):
    """The finished video could not be fetched. It is fetched again, never created again."""

    code: ClassVar[str] = "video_link_broken"

    def __init__(self, message: str | None = None, *, retry_after: timedelta | None = None) -> None:
        super().__init__(message, retry_after=retry_after)


class LinkRefused(DeliveryUnfit):
    """The provider's link leads where its files may not lie. Check the provider and `link_hosts`."""

    code: ClassVar[str] = "video_link_refused"


class Unfit(StrEnum):
    """Why a file is not the video that was asked for."""

    EMPTY = "empty"
    WEB_PAGE = "web_page"
    TOO_LARGE = "too_large"
    OTHER_TYPE = "other_type"
    OTHER_FORMAT = "other_format"
    CONTRADICTION = "contradiction"
    TRUNCATED = "truncated"
    DAMAGED = "damaged"
    NO_PICTURE = "no_picture"
    OTHER_LENGTH = "other_length"


NOT_THE_FILE = frozenset({Unfit.EMPTY, Unfit.WEB_PAGE, Unfit.OTHER_TYPE})
"""What an address gives that does not give the file (yet): an error's page, or nothing."""


class VideoUnfit(DeliveryUnfit):
    """The provider's file is not the video that was asked for. It was made once and is not made again."""

    code: ClassVar[str] = "video_unfit"

    def __init__(self, reason: Unfit, text: str) -> None:
        super().__init__(f"The provider's file is unfit: {text}")
        self.reason = reason
