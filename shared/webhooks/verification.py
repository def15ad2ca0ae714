"""Verifying a request with a source's keys, and telling a forgery from our own missing secret."""

from datetime import datetime, timedelta

from shared.webhooks.base import Scheme, Verified, WebhookRequest
from shared.webhooks.rejections import BadSignature
from shared.webhooks.secrets import SourceKeys, SourceNotConfigured


def verify(
    scheme: Scheme, request: WebhookRequest, keys: SourceKeys, now: datetime, tolerance: timedelta
) -> Verified:
    """The verdict over all configured secrets. Raises WebhookRejected, or SourceNotConfigured.

    With a secret that could not be loaded a mismatch proves nothing: the request may carry its signature.
    What is wrong with it stands in the log; the caller may be anyone.
    """
    if not keys.keys:
        raise SourceNotConfigured
    try:
        verified = scheme.verify(request, keys.keys, now, tolerance)
    except BadSignature:
        if keys.problems:
            raise SourceNotConfigured from None
        raise
    return Verified(secret_index=keys.places[verified.secret_index])
