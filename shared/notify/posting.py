"""The port to a receiver: one signed POST, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar, Protocol

from shared.errors import AfterhookError


@dataclass(frozen=True, slots=True, kw_only=True)
class PostAnswer:
    """The receiver's answer; its body is never read."""

    status: int
    retry_after: timedelta | None = None


class PostFailed(AfterhookError):
    """No answer came. `reason` is a stable code: `no_answer`, `timed_out`, `not_public`."""

    code: ClassVar[str] = "post_failed"

    def __init__(self, reason: str) -> None:
        super().__init__(f"The receiver could not be told: {reason}.")
        self.reason = reason


class WebhookPost(Protocol):
    """Posts to public addresses only, follows no redirect, and ends within its time."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> PostAnswer:
        """Raises PostFailed."""
        ...
