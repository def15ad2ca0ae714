"""Verifying a request with a source's keys, and telling a forgery from our own missing secret."""

from datetime import datetime, timedelta

from shared.webhooks.base import Scheme, Verified, WebhookRequest
from shared.webhooks.rejections import BadSignature, BodyTooLarge, LengthRequired
from shared.webhooks.secrets import SourceKeys, SourceNotConfigured


def check_length(request: WebhookRequest, max_body: int) -> None:
    """Raises BodyTooLarge, or LengthRequired for a chunked body.

    The Functions host hands a body over only when Content-Length is more than 0; a chunked one arrives
    empty (https://github.com/Azure/azure-functions-host/issues/4926).
    """
    if len(request.body) > max_body:
        raise BodyTooLarge(f"The body is larger than the {max_body} bytes this source accepts.")
    if not request.body and request.headers.get("transfer-encoding", "").strip():
        raise LengthRequired("The body came in chunks. Send it with a Content-Length.")


def verify(
    scheme: Scheme, request: WebhookRequest, keys: SourceKeys, now: datetime, tolerance: timedelta
) -> Verified:
    """The verdict over all configured secrets. Raises WebhookRejected, or SourceNotConfigured.

    With a secret that could not be loaded a mismatch proves nothing: the request may carry its signature.
    """
    if not keys.keys:
        raise SourceNotConfigured(" ".join(keys.problems))
    try:
        verified = scheme.verify(request, keys.keys, now, tolerance)
    except BadSignature:
        if keys.problems:
            raise SourceNotConfigured(" ".join(keys.problems)) from None
        raise
    return Verified(secret_index=keys.places[verified.secret_index])
