"""Why a webhook is refused: one class a reason, with the answer's status and a stable code.

Texts say what was wrong with the request and what the sender should do. They never echo the body, a
header's value or a secret.
"""

from typing import ClassVar

from shared.errors import RequestRefused


class WebhookRejected(RequestRefused):
    """The webhook was refused; nothing was stored."""

    code: ClassVar[str] = "webhook_rejected"
    status: ClassVar[int] = 400


class BadSignature(WebhookRejected):
    """The signature is missing, malformed, or does not match the body."""

    code: ClassVar[str] = "bad_signature"
    status: ClassVar[int] = 401


class UnknownSigningKey(BadSignature):
    """Signed with a key that is not among the published ones known here: they may have changed since."""


class StaleTimestamp(WebhookRejected):
    """The signed timestamp is too far from the present time."""

    code: ClassVar[str] = "stale_timestamp"
    status: ClassVar[int] = 401

    def __init__(self, message: str | None = None, *, skew_seconds: int = 0) -> None:
        super().__init__(message)
        self.skew_seconds = skew_seconds  # signed time minus our time: positive lies in the future


class MalformedBody(WebhookRejected):
    """The body is not what the sender's contract promises."""

    code: ClassVar[str] = "malformed_body"
    status: ClassVar[int] = 400


class UnsupportedMediaType(WebhookRejected):
    """The body's media type or encoding is not one that this source accepts."""

    code: ClassVar[str] = "unsupported_media_type"
    status: ClassVar[int] = 415


class BodyTooLarge(WebhookRejected):
    """The body is larger than this source accepts."""

    code: ClassVar[str] = "body_too_large"
    status: ClassVar[int] = 413


class LengthRequired(WebhookRejected):
    """The request has no Content-Length, so its body could not be read. Do not send it in chunks."""

    code: ClassVar[str] = "length_required"
    status: ClassVar[int] = 411


class UnknownSource(WebhookRejected):
    """No source of this name is configured. Compare the end of the address with pipeline.toml."""

    code: ClassVar[str] = "unknown_source"
    status: ClassVar[int] = 404


class MethodNotAllowed(WebhookRejected):
    """This source takes no request of this method."""

    code: ClassVar[str] = "method_not_allowed"
    status: ClassVar[int] = 405

    def __init__(self, methods: tuple[str, ...]) -> None:
        others = ", ".join(method for method in methods if method != "POST")
        handshake = f", and {others} only as its sender's handshake" if others else " only"
        super().__init__(f"This source takes POST{handshake}.")
        self.headers = {"Allow": ", ".join(methods)}
