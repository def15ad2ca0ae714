"""Verifying a request, and telling a forgery from our own missing secret."""

from dataclasses import replace
from typing import Any

from shared.webhooks.base import Reply, Scheme, Trust, Verified, WebhookRequest
from shared.webhooks.rejections import BadSignature, UnknownSigningKey
from shared.webhooks.secrets import SourceKeys, SourceNotConfigured


def verify(scheme: Scheme[Any], request: WebhookRequest, keys: SourceKeys, trust: Trust[Any]) -> Verified:
    """The verdict over all configured secrets. Raises WebhookRejected, or SourceNotConfigured.

    With a secret that could not be loaded a mismatch proves nothing: the request may carry its signature.
    What is wrong with it stands in the log; the caller may be anyone.
    """
    if not keys.keys and scheme.wants_secrets(trust.options):
        raise SourceNotConfigured
    try:
        verified = scheme.verify(request, replace(trust, keys=keys.keys, named=keys.named))
    except UnknownSigningKey:
        raise
    except BadSignature:
        if keys.problems:
            raise SourceNotConfigured from None
        raise
    if verified.secret_index is None:
        return verified
    return Verified(secret_index=keys.places[verified.secret_index])


def greet(scheme: Scheme[Any], request: WebhookRequest, keys: SourceKeys, trust: Trust[Any]) -> Reply | None:
    """The answer to a handshake by another method than POST. Raises as `verify`."""
    try:
        return scheme.greet(request, replace(trust, keys=keys.keys, named=keys.named))
    except BadSignature:
        if keys.problems:
            raise SourceNotConfigured from None
        raise
